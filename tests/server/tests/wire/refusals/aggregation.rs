//! The rows of `src/refusal/aggregation.rs`.

use super::check;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    check("Aggregation", vec![]).await;
}
