//! Task: an application error that keeps the cause, and the HTTP status of each error.

use std::fmt;

use marula::Error;
use marula::bson::doc;
use uuid::Uuid;

use crate::support::{Env, Order, order};

#[derive(Debug)]
enum AppError {
    Database(Error),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        AppError::Database(error)
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the database reported an error")
    }
}

impl std::error::Error for AppError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let AppError::Database(error) = self;
        Some(error)
    }
}

fn status(AppError::Database(error): &AppError) -> u16 {
    match error {
        Error::NotFound { .. } => 404,
        Error::Duplicate { .. } | Error::VersionConflict { .. } => 409,
        Error::Validation { .. } | Error::InvalidPageToken => 400,
        error if error.is_unavailable() => 503,
        _ => 500,
    }
}

#[tokio::test]
async fn errors_become_statuses() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let get = async |id: Uuid| Ok::<_, AppError>(orders.find_by_id(id).required().await?);
    let order = order(1);
    assert_eq!(status(&get(order.id).await.unwrap_err()), 404);
    orders.insert_one(&order).await.unwrap();
    assert_eq!(status(&orders.insert_one(&order).await.unwrap_err().into()), 409);
    let broken = doc! { "$set": { "lines": [{ "sku": 7 }] } };
    orders
        .driver()
        .update_one(doc! { "number": "N1" }, broken)
        .await
        .unwrap();
    let error = get(order.id).await.unwrap_err();
    assert_eq!(status(&error), 500);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        cause.contains("lines[0].sku") && cause.contains("orders"),
        "{cause}"
    );
    env.stop().await;
}
