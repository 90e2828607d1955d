//! Sessions and the cluster time ([Driver Sessions]).
//!
//! [Driver Sessions]:
//! https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md

mod client_session;
mod cluster_time;
mod server_session;

pub use client_session::{ReadTime, ReadTimeRule, SessionOptions, SessionState};
pub use cluster_time::ClusterTime;
pub use server_session::{ServerSession, SessionStack};
