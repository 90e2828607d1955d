//! Server sessions and the cluster's clock (Driver Sessions specification).

mod client_session;
mod cluster_time;
mod server_session;

pub use client_session::{ReadTime, ReadTimeRule, SessionOptions, SessionState};
pub use cluster_time::ClusterTime;
pub use server_session::{ServerSession, SessionStack};
