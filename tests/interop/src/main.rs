//! Checks the test server with the official Rust driver.
//!
//! Usage: `marula-interop-tests URI`. Runs operations, compares each result with the documented
//! behaviour of MongoDB, prints `ok NAME` or `FAILED NAME: WHY` for each, then
//! `N passed, N failed`; the exit code is not 0 if a check failed. The database `interop_check` is
//! dropped before and after the checks.

mod aggregation;
mod checks;
mod context;
mod crud;
mod cursors;
mod discovery;
mod find_and_modify;
mod gridfs;
mod indexes;
mod inserts;
mod namespaces;
mod queries;
mod replica_set;
mod retries;
mod types;
mod update_errors;
mod updates;

use checks::Checks;
use context::Context;
use std::process::ExitCode;
use std::time::Duration;

/// Timeout of a section.
const SECTION_LIMIT: Duration = Duration::from_secs(180);

/// Runs the sections sequentially, each with a timeout.
macro_rules! sections {
    ($checks:expr, $context:expr, $($module:ident),+ $(,)?) => {$(
        let ran = tokio::time::timeout(SECTION_LIMIT, $module::run(&mut $checks, &$context)).await;
        $checks.section_ended(stringify!($module), ran);
    )+};
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(uri), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: marula-interop-tests URI");
        return ExitCode::from(2);
    };
    let context = match Context::connect(&uri).await {
        Ok(context) => context,
        Err(error) => {
            println!("FAILED connect: {error}\n0 passed, 1 failed");
            return ExitCode::FAILURE;
        }
    };
    let mut checks = Checks::default();
    sections!(
        checks,
        context,
        discovery,
        inserts,
        crud,
        queries,
        updates,
        update_errors,
        find_and_modify,
        aggregation,
        indexes,
        cursors,
        namespaces,
        types,
        gridfs,
        retries,
        replica_set,
    );
    let dropped = context.db.drop().await;
    checks.eq("drop the database", dropped, ());
    if checks.summary() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
