//! The routes of the shop, and its HTTP server.

use std::io;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, patch, post};
use tokio::net::TcpListener;

use super::error::ApiError;
use super::{Shop, handlers_customers as customers, handlers_orders as orders};

/// The application as a tower service.
pub fn router(shop: Shop) -> Router {
    Router::new()
        .route("/customers", get(customers::list).post(customers::create))
        .route("/customers/{id}", get(customers::show))
        .route("/orders", get(orders::list).post(orders::create))
        .route("/orders/{id}", get(orders::show).delete(orders::delete))
        .route("/orders/{id}/lines/{sku}", patch(orders::change_line))
        .route("/orders/{id}/pay", post(orders::pay))
        .fallback(async || ApiError::NotFound("route"))
        .method_not_allowed_fallback(async || {
            let message = "the route does not support this method".to_owned();
            ApiError::Unreadable(StatusCode::METHOD_NOT_ALLOWED, message)
        })
        .with_state(shop)
}

/// Serves the shop until `stop` completes, then waits for pending requests.
///
/// # Errors
/// Errors of the listener.
pub async fn serve(
    listener: TcpListener,
    shop: Shop,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router(shop))
        .with_graceful_shutdown(stop)
        .await
}
