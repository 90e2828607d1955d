//! What the runnable examples share with their tests: see `quickstart.rs` and `shop`.

pub mod shop;
