//! The rows of `src/refusal/transactions.rs`.

use super::check;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    check("Transactions", vec![]).await;
}
