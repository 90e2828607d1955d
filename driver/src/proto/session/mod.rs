//! Server sessions and the cluster's clock (Driver Sessions specification).

mod cluster_time;
mod server_session;

pub use cluster_time::ClusterTime;
pub use server_session::{ServerSession, SessionStack};
