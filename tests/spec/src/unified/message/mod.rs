//! The log messages of a client: collected as the driver emits them, and compared with what a test expects.

mod collector;
mod expect;
mod subscriber;

pub(crate) use collector::Collector;
pub(crate) use expect::check;

use marula_driver::bson::Document;
use tracing::Level;

/// A collected message.
#[derive(Clone, Debug)]
struct Message {
    level: Level,
    component: &'static str,
    data: Document,
}

/// The targets of the driver's components, as the format names these.
const COMPONENTS: [(&str, &str); 4] = [
    ("marula_driver::command", "command"),
    ("marula_driver::connection", "connection"),
    ("marula_driver::server_selection", "serverSelection"),
    ("marula_driver::topology", "topology"),
];

/// The level of `tracing` for one of the format: the nearest that is not more severe.
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
