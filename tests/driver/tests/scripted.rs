//! What the driver sends when a server answers in a way that a test decides.

#[path = "scripted/cursors.rs"]
mod cursors;
#[path = "scripted/end_sessions.rs"]
mod end_sessions;
#[path = "scripted/fields.rs"]
mod fields;
#[path = "scripted/load_balanced.rs"]
mod load_balanced;
#[path = "scripted/operation_ids.rs"]
mod operation_ids;
#[path = "scripted/replies.rs"]
mod replies;
#[path = "scripted/retries.rs"]
mod retries;
#[path = "scripted/splits.rs"]
mod splits;
#[path = "scripted/tailable.rs"]
mod tailable;
