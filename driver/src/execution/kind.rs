//! The kinds of servers that the fields of a command depend on.

use crate::{proto::description::HelloReply, topology::SelectedServer};

/// What the rules for commands distinguish servers by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A mongos, or a load balancer, which "MUST be treated like a mongos" (Load Balancer
    /// specification), regardless of the hello reply of the server behind it.
    Router,
    ReplicaSetMember,
    /// It has neither a cluster time nor retryable writes.
    Standalone,
}

impl Kind {
    pub(super) fn of(server: &SelectedServer, hello: &HelloReply) -> Self {
        if server.is_load_balancer() || hello.is_mongos() {
            Self::Router
        } else if hello.is_replica_set_member() {
            Self::ReplicaSetMember
        } else {
            Self::Standalone
        }
    }
}
