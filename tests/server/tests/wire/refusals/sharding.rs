//! The rows of `src/refusal/sharding.rs`.

use super::check;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    check("Sharded collections", vec![]).await;
}
