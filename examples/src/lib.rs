//! Runnable examples: see `quickstart.rs` and `shop`.
