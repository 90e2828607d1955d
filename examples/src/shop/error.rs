//! Converts errors to a status and a JSON body. Client errors are described in full; details of
//! server errors are only logged.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Value of the `Retry-After` header when the database is unavailable.
const RETRY_AFTER_SECONDS: &str = "5";

/// The error of a request.
#[derive(Clone, Debug)]
pub enum ApiError {
    /// The request is well-formed and its content is invalid: 422.
    Invalid(Vec<Problem>),
    /// The resource does not exist: 404.
    NotFound(&'static str),
    /// The state of the resource does not allow the request: 409.
    Conflict(&'static str),
    /// The request cannot be parsed: the status and the message of axum.
    Unreadable(StatusCode, String),
    /// An error of the database: the status depends on the error.
    Database(marula::Error),
}

/// A field with an invalid value.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    field: String,
    problem: String,
}

impl Problem {
    /// A field and the reason why its value is invalid.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Problem {
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// Allows handlers to use `?` on every call of the ODM.
impl From<marula::Error> for ApiError {
    fn from(error: marula::Error) -> Self {
        ApiError::Database(error)
    }
}

macro_rules! rejections {
    ($($rejection:ty)*) => { $(
        impl From<$rejection> for ApiError {
            fn from(rejection: $rejection) -> Self {
                ApiError::Unreadable(rejection.status(), rejection.body_text())
            }
        }
    )* };
}
rejections!(JsonRejection PathRejection QueryRejection);

/// The JSON body of every error.
#[derive(Default, Serialize)]
struct Body {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

fn body(code: &'static str, message: impl Into<String>) -> Body {
    Body {
        code,
        message: message.into(),
        ..Body::default()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, body) = match self {
            ApiError::Invalid(problems) => {
                let body = Body {
                    problems,
                    ..body("invalid", "the request contains invalid values")
                };
                (StatusCode::UNPROCESSABLE_ENTITY, body)
            }
            ApiError::NotFound(what) => {
                let message = format!("the {what} does not exist");
                (StatusCode::NOT_FOUND, body("not_found", message))
            }
            ApiError::Conflict(why) => (StatusCode::CONFLICT, body("conflict", why)),
            ApiError::Unreadable(status, message) => (status, body("unreadable", message)),
            ApiError::Database(error) => database(&error),
        };
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = header::HeaderValue::from_static(RETRY_AFTER_SECONDS);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

fn database(error: &marula::Error) -> (StatusCode, Body) {
    match error {
        marula::Error::NotFound { .. } => (
            StatusCode::NOT_FOUND,
            body("not_found", "the document does not exist"),
        ),
        marula::Error::Duplicate { index, key, .. } => {
            let fields = key.as_ref().map(|key| key.keys().cloned().collect());
            let body = Body {
                index: index.clone(),
                fields: fields.unwrap_or_default(),
                ..body("duplicate", "a document with the same value exists")
            };
            (StatusCode::CONFLICT, body)
        }
        marula::Error::InvalidPageToken => (
            StatusCode::UNPROCESSABLE_ENTITY,
            body("invalid", "the cursor does not belong to this list"),
        ),
        _ if error.is_validation() => (
            StatusCode::UNPROCESSABLE_ENTITY,
            body("invalid", "the document fails the validation of its collection"),
        ),
        _ if error.is_unavailable() || error.is_timeout() => {
            eprintln!("shop: the database is unavailable: {error}");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                body("unavailable", "the service is temporarily unavailable"),
            )
        }
        _ => {
            // The details can contain names of collections and servers and stored values, so they
            // are only logged.
            eprintln!("shop: {error}");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                body("internal", "internal error"),
            )
        }
    }
}
