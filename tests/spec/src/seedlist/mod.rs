//! The suite of Initial DNS Seedlist Discovery: names looked up at a DNS server of ours, and deployments behind TLS.

mod check;
mod world;
mod zone;

use std::path::Path;

use crate::{
    case::{Case, Outcome},
    files,
};

const FORMAT: &str = "dns-seedlist";

/// The cases of the suite, one per file.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "initial-dns-seedlist-discovery/tests")
        .into_iter()
        .map(|file| case(root, &file))
        .collect()
}

fn case(root: &Path, file: &str) -> Case {
    let read = files::json(root, file).and_then(|json| check::Expected::read(&json));
    // The folder says which deployment listens on the ports.
    let kind = file
        .rsplit('/')
        .nth(1)
        .and_then(world::Kind::of_folder)
        .ok_or_else(|| format!("{file} is in a folder of no known deployment"));
    let (expected, kind) = match (read, kind) {
        (Ok(expected), Ok(kind)) => (expected, kind),
        (Err(why), _) | (_, Err(why)) => return Case::unreadable(FORMAT, file, why),
    };
    let description = expected.uri().to_owned();
    Case::new(FORMAT, file, description, move || match world::World::get() {
        Ok(world) => world.block_on(check::run(&expected, world, kind)),
        Err(why) => Outcome::Failed(why.clone()),
    })
}
