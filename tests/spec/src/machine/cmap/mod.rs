//! connection-monitoring-and-pooling, format of its own: the shell's pool, told what to do step by step.
//!
//! Both styles use real sockets to a server in the process: `unit` files need one that answers hello, `integration` files
//! one with fail points.

mod events;
mod file;
mod run;

use std::path::Path;

use crate::{case::Case, files};

/// The cases, one per file.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "connection-monitoring-and-pooling/tests/cmap-format")
        .iter()
        .map(|file| match files::json(root, file) {
            Err(why) => Case::unreadable("cmap", file, why),
            Ok(content) => {
                let description = content.get("description").and_then(serde_json::Value::as_str);
                let description = description.unwrap_or(file).to_owned();
                Case::new("cmap", file, description, move || run::run(&content))
            }
        })
        .collect()
}
