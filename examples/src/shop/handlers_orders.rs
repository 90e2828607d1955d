//! The handlers of `/orders`.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use marula::Filter;
use marula::driver::options::ReturnDocument;
use marula::prelude::*;
use uuid::Uuid;

use super::Shop;
use super::error::{ApiError, Problem};
use super::extract::{Json, Path, Query};
use super::models::{Order, Status};
use super::requests::{LineChange, NewOrder, OrderQuery, page_size};
use super::responses::{Listed, OrderView};

/// `POST /orders`: 201 with the order; 422 if the customer does not exist.
///
/// # Errors
/// See [`ApiError`].
pub async fn create(
    State(shop): State<Shop>,
    Json(new): Json<NewOrder>,
) -> Result<impl IntoResponse, ApiError> {
    let order = new.into_model()?;
    if !shop.customers.exists(|c| c.id().eq(order.customer_id)).await? {
        let problem = Problem::new("customerId", "the customer does not exist");
        return Err(ApiError::Invalid(vec![problem]));
    }
    shop.orders.insert_one(&order).await?;
    let location = [(header::LOCATION, format!("/orders/{}", order.id))];
    Ok((StatusCode::CREATED, location, Json(OrderView::from(order))))
}

/// `GET /orders/{id}`: 200 with the order; 404 if it does not exist.
///
/// # Errors
/// See [`ApiError`].
pub async fn show(State(shop): State<Shop>, Path(id): Path<Uuid>) -> Result<Json<OrderView>, ApiError> {
    Ok(Json(find(&shop, id).await?.into()))
}

/// `GET /orders`: a page of the orders that match all parameters of the query, newest first.
///
/// # Errors
/// See [`ApiError`].
pub async fn list(
    State(shop): State<Shop>,
    Query(query): Query<OrderQuery>,
) -> Result<Json<Listed<OrderView>>, ApiError> {
    let size = page_size(query.limit)?;
    let page = shop
        .orders
        .find(|o| {
            Filter::all_some([
                query.customer.map(|id| o.customer_id().eq(id)),
                query.status.map(|status| o.status().eq(status)),
                query.sku.map(|sku| o.lines().sku().eq(sku)),
            ])
        })
        .keyset(
            |o| (o.created_at().desc(), o.id().desc()),
            query.cursor.as_deref(),
            size,
        )
        .await?;
    Ok(Json(page.into()))
}

/// `PATCH /orders/{id}/lines/{sku}`: sets the quantity of one line, in one atomic update; 409 if
/// the order is not open.
///
/// # Errors
/// See [`ApiError`].
pub async fn change_line(
    State(shop): State<Shop>,
    Path((id, sku)): Path<(Uuid, String)>,
    Json(change): Json<LineChange>,
) -> Result<Json<OrderView>, ApiError> {
    let quantity = change.quantity()?;
    let changed = shop
        .orders
        .find_one_and_update(
            |o| o.id().eq(id) & o.status().eq(Status::Open) & o.lines().sku().eq(&sku),
            |o| {
                o.lines()
                    .filtered_positional(|line| line.sku().eq(&sku))
                    .quantity()
                    .set(quantity)
            },
        )
        .return_document(ReturnDocument::After)
        .await?;
    if let Some(order) = changed {
        return Ok(Json(order.into()));
    }
    // No order matched. Find out which condition failed.
    let order = find(&shop, id).await?;
    if order.lines.iter().any(|line| line.sku == sku) {
        Err(ApiError::Conflict("only an open order can be changed"))
    } else {
        Err(ApiError::NotFound("line"))
    }
}

/// `POST /orders/{id}/pay`: changes the status from open to paid; 409 if the order is not open. Of
/// concurrent requests, one succeeds.
///
/// # Errors
/// See [`ApiError`].
pub async fn pay(State(shop): State<Shop>, Path(id): Path<Uuid>) -> Result<Json<OrderView>, ApiError> {
    let paid = shop
        .orders
        .find_one_and_update(
            |o| o.id().eq(id) & o.status().eq(Status::Open),
            |o| (o.status().set(Status::Paid), o.paid_at().current_date()),
        )
        .return_document(ReturnDocument::After)
        .await?;
    if let Some(order) = paid {
        return Ok(Json(order.into()));
    }
    find(&shop, id).await?;
    Err(ApiError::Conflict("the order is not open"))
}

/// `DELETE /orders/{id}`: 204; 404 if it does not exist.
///
/// # Errors
/// See [`ApiError`].
pub async fn delete(State(shop): State<Shop>, Path(id): Path<Uuid>) -> Result<StatusCode, ApiError> {
    match shop.orders.delete_by_id(id).await? {
        0 => Err(ApiError::NotFound("order")),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

async fn find(shop: &Shop, id: Uuid) -> Result<Order, ApiError> {
    let order = shop.orders.find_by_id(id).await?;
    order.ok_or(ApiError::NotFound("order"))
}
