//! What the runnable examples share with their tests: see `quickstart.rs` and `shop`.

pub mod shop;

/// The code of the README, so that it keeps compiling.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The code of the README of `marula`.
#[cfg(doctest)]
#[doc = include_str!("../../odm/README.md")]
pub struct OdmReadme;
