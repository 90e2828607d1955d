//! Every failure as a status and a JSON body: what the client did wrong in full, what we did wrong not at all.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The server's code for a document that the validator of its collection refuses.
const DOCUMENT_VALIDATION_FAILURE: i32 = 121;
/// How long clients should leave us alone when the database cannot be reached.
const RETRY_AFTER_SECONDS: &str = "5";

/// Why a request failed.
#[derive(Clone, Debug)]
pub enum ApiError {
    /// The request is well-formed, and its content makes no sense: 422.
    Invalid(Vec<Problem>),
    /// There is no such thing: 404.
    NotFound(&'static str),
    /// The thing is not in a state that allows it: 409.
    Conflict(&'static str),
    /// The request cannot be read: the status and the text of the framework.
    Unreadable(StatusCode, String),
    /// The database failed: the status depends on how.
    Database(marula::Error),
}

/// What is wrong with a field.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    field: String,
    problem: String,
}

impl Problem {
    /// A field, and what is wrong with it.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Problem {
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// So that handlers can use `?` on every call of the ODM.
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

/// The JSON of every failure.
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
                    ..body("invalid", "the request has values that cannot be")
                };
                (StatusCode::UNPROCESSABLE_ENTITY, body)
            }
            ApiError::NotFound(what) => {
                let message = format!("there is no such {what}");
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
            body("not_found", "there is no such document"),
        ),
        marula::Error::Duplicate { index, key, .. } => {
            let fields = key.as_ref().map(|key| key.keys().cloned().collect());
            let body = Body {
                index: index.clone(),
                fields: fields.unwrap_or_default(),
                ..body("duplicate", "another one has the same value")
            };
            (StatusCode::CONFLICT, body)
        }
        marula::Error::InvalidPageToken => (
            StatusCode::UNPROCESSABLE_ENTITY,
            body("invalid", "the cursor is not one of this list"),
        ),
        marula::Error::Driver(cause) if cause.code() == Some(DOCUMENT_VALIDATION_FAILURE) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            body("invalid", "the document breaks the rules of its collection"),
        ),
        marula::Error::Driver(cause) if cause.is_unavailable() || cause.is_timeout() => {
            eprintln!("shop: the database is unavailable: {error}");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                body("unavailable", "try again in a moment"),
            )
        }
        _ => {
            // The details may name collections, servers and stored values: they are for us.
            eprintln!("shop: {error}");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                body("internal", "something went wrong on our side"),
            )
        }
    }
}
