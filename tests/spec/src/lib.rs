//! Runs the JSON tests of the MongoDB specifications. Each case is a named test.
//!
//! A suite is a function that parses its files and returns [`case::Case`]s. [`SUITES`] lists the
//! suites; [`runner`] runs the cases.

pub mod case;
pub mod fields;
pub mod files;
pub mod machine;
pub mod runner;
pub mod seedlist;
mod timing;
pub mod unified;

use std::path::Path;

use case::Case;

/// Collects the cases of a suite from the folder of the specification tests.
pub type Collect = fn(&Path) -> Vec<Case>;

/// All suites.
pub const SUITES: &[Collect] = &[
    machine::uri::collect,
    machine::auth::collect,
    machine::concern::collect,
    machine::corpus::collect,
    machine::vector::collect,
    machine::selection::collect,
    machine::discovery::collect,
    machine::cmap::collect,
    seedlist::collect,
    |root| unified::collect(root, unified::Matrix::from_environment()),
];
