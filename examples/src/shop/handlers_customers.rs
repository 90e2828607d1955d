//! The handlers of `/customers`.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use marula::Filter;
use marula::prelude::*;
use uuid::Uuid;

use super::Shop;
use super::error::ApiError;
use super::extract::{Json, Path, Query};
use super::models::Customer;
use super::requests::{CustomerQuery, NewCustomer, page_size};
use super::responses::{CustomerView, Listed};

/// `POST /customers`: 201 with the customer; 409 if another customer has the e-mail address (unique
/// index).
///
/// # Errors
/// See [`ApiError`].
pub async fn create(
    State(shop): State<Shop>,
    Json(new): Json<NewCustomer>,
) -> Result<impl IntoResponse, ApiError> {
    let customer = new.into_model()?;
    shop.customers.insert_one(&customer).await?;
    let location = [(header::LOCATION, format!("/customers/{}", customer.id))];
    Ok((StatusCode::CREATED, location, Json(CustomerView::from(customer))))
}

/// `GET /customers/{id}`: 200 with the customer; 404 if it does not exist.
///
/// # Errors
/// See [`ApiError`].
pub async fn show(State(shop): State<Shop>, Path(id): Path<Uuid>) -> Result<Json<CustomerView>, ApiError> {
    let customer = shop.customers.find_by_id(id).await?;
    Ok(Json(customer.ok_or(ApiError::NotFound("customer"))?.into()))
}

/// `GET /customers`: a page of customers, oldest first.
///
/// # Errors
/// See [`ApiError`].
pub async fn list(
    State(shop): State<Shop>,
    Query(query): Query<CustomerQuery>,
) -> Result<Json<Listed<CustomerView>>, ApiError> {
    let size = page_size(query.limit)?;
    let page = shop
        .customers
        .find(|c| Filter::all(query.email.map(|email| c.email().eq(email))))
        .collation(Customer::email_collation())
        .keyset(|c| c.id().asc(), query.cursor.as_deref(), size)
        .await?;
    Ok(Json(page.into()))
}
