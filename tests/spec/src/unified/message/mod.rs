//! The log messages of a client: collection, and comparison with expected messages.

mod collector;
mod expect;
mod subscriber;

pub(crate) use collector::Collector;
pub(crate) use expect::check;

use marula_driver::bson::Document;
use tracing::Level;

#[derive(Clone, Debug)]
struct Message {
    level: Level,
    component: &'static str,
    data: Document,
}

/// The `tracing` targets of the driver's components, and the components in the test format.
const COMPONENTS: [(&str, &str); 4] = [
    ("marula_driver::command", "command"),
    ("marula_driver::connection", "connection"),
    ("marula_driver::server_selection", "serverSelection"),
    ("marula_driver::topology", "topology"),
];

/// The `tracing` level for a level of the test format: the closest one that is not more severe.
fn level(name: &str) -> Option<Level> {
    Some(match name {
        "emergency" | "alert" | "critical" | "error" => Level::ERROR,
        "warning" | "warn" => Level::WARN,
        "notice" | "info" => Level::INFO,
        "debug" => Level::DEBUG,
        "trace" => Level::TRACE,
        _ => return None,
    })
}
