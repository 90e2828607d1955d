//! Initial DNS Seedlist Discovery: lookups with an in-process DNS server, and deployments with TLS.

mod check;
mod fixture;
mod zone;

use std::path::Path;

use crate::{
    case::{Case, Outcome},
    files,
};

const FORMAT: &str = "dns-seedlist";

/// Collects the cases, one per file.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "initial-dns-seedlist-discovery/tests")
        .into_iter()
        .map(|file| case(root, &file))
        .collect()
}

fn case(root: &Path, file: &str) -> Case {
    let read = files::json(root, file).and_then(|json| check::Expected::read(&json));
    // The folder determines the deployment.
    let kind = file
        .rsplit('/')
        .nth(1)
        .and_then(fixture::Kind::of_folder)
        .ok_or_else(|| format!("no deployment for the folder of {file}"));
    let (expected, kind) = match (read, kind) {
        (Ok(expected), Ok(kind)) => (expected, kind),
        (Err(why), _) | (_, Err(why)) => return Case::unreadable(FORMAT, file, why),
    };
    let description = expected.uri().to_owned();
    Case::new(FORMAT, file, description, move || match fixture::Fixture::get() {
        Ok(fixture) => fixture.block_on(check::run(&expected, fixture, kind)),
        Err(why) => Outcome::Failed(why.clone()),
    })
}
