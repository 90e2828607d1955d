//! The web backend of the example `shop`, as a library that the example and its tests use, and the
//! deployment of the other examples.

pub mod deployment;
pub mod shop;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The code of the README of `marula`.
#[cfg(doctest)]
#[doc = include_str!("../../odm/README.md")]
pub struct OdmReadme;
