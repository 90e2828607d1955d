//! Connection Monitoring and Pooling, the CMAP format: runs the steps of each file on the driver's
//! pool.
//!
//! Both styles use sockets and an in-process server: `unit` files need a server that replies to
//! hello, `integration` files one with fail points.

mod events;
mod file;
mod run;

use std::path::Path;

use marula_driver::bson::from_extended_json;

use crate::{case::Case, files, timing};

/// Collects the cases, one per file.
pub fn collect(root: &Path) -> Vec<Case> {
    files::below(root, "connection-monitoring-and-pooling/tests/cmap-format")
        .iter()
        .map(|file| match files::json(root, file) {
            Err(why) => Case::unreadable("cmap", file, why),
            Ok(content) => {
                let description = content.get("description").and_then(serde_json::Value::as_str);
                let description = description.unwrap_or(file).to_owned();
                let is_timed =
                    from_extended_json(&content.to_string()).is_ok_and(|file| timing::is_timed(&file));
                Case {
                    is_timed,
                    ..Case::new("cmap", file, description, move || run::run(&content))
                }
            }
        })
        .collect()
}
