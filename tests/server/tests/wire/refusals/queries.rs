//! The rows of `src/refusal/queries.rs`.

use super::check;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    check("Queries", vec![]).await;
}
