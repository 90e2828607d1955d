//! axum's extractors with [`ApiError`] as their rejection, and the JSON of requests and responses.

use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use marula::json::Plain;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// The body of a request, from JSON, or of a response. Ids and dates are text.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let extract::Json(Plain(body)) = extract::Json::from_request(request, state).await?;
        Ok(Json(body))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(Plain(self.0)).into_response()
    }
}

macro_rules! from_parts {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(pub T);

        impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for $name<T> {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
                let extract::$name(value) = extract::$name::from_request_parts(parts, state).await?;
                Ok($name(value))
            }
        }
    )* };
}

from_parts! {
    /// The parameters in the path of a request.
    Path;
    /// The query of a request.
    Query;
}
