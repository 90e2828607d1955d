//! The rows of `src/refusal/indexes.rs`.

use super::check;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    check("Indexes", vec![]).await;
}
