//! axum's extractors with [`ApiError`] as their rejection.

use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// The body of a request, from JSON.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let extract::Json(body) = extract::Json::from_request(request, state).await?;
        Ok(Json(body))
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
