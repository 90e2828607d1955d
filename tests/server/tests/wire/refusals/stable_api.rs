//! The rows of `src/refusal/stable_api.rs`.

use super::check;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    check("Stable API, strict", vec![]).await;
}
