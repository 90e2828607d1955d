//! Errors of operations, connections and checks: what they change ([SDAM, "Error handling"]).
//!
//! [SDAM, "Error handling"]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md#error-handling

use std::{cmp::Ordering, io};

use super::compare_topology_versions;
use crate::{
    Error, ErrorKind, SYSTEM_OVERLOADED_ERROR, ServerAddress,
    bson::{ObjectId, from_slice},
    proto::description::{TopologyDescription, TopologyType, TopologyVersion},
};

/// What is to be done after an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorAction {
    /// Mark the server Unknown, with `topology_version`.
    pub mark_unknown: bool,
    /// `topologyVersion` in the error response.
    pub topology_version: Option<TopologyVersion>,
    /// Clear the pool. Behind a load balancer: clear it for the service of the connection.
    pub clear_pool: bool,
    /// With `clear_pool`: `interruptInUseConnections`.
    pub interrupt_in_use: bool,
    /// Request an immediate check.
    pub check_now: bool,
    /// Cancel the check in progress and close its connection, because the server cannot be reached.
    pub cancel_check: bool,
    /// Cancel the check in progress if it awaits the next state of the server, which may not come.
    pub cancel_await: bool,
}

/// When the error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// While the connection was established: connected, handshaken and authenticated.
    BeforeHandshakeCompletes,
    /// While an operation used the connection.
    AfterHandshakeCompletes,
}

/// An error on a connection of the pool.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationError<'a> {
    /// The error.
    pub error: &'a Error,
    /// When it occurred.
    pub phase: Phase,
    /// The generation of the connection.
    pub generation: u64,
    /// The current generation of the pool, or of the service.
    pub pool_generation: u64,
    /// `serviceId`, if the handshake returned it.
    pub service_id: Option<ObjectId>,
}

/// What an error on a connection of the pool changes ("Application errors").
///
/// Stale errors change nothing: those of an older generation, and those with a `topologyVersion`
/// that is not newer than the known one ("isStaleError").
pub fn handle_application_error(
    topology: &TopologyDescription,
    address: &ServerAddress,
    failure: &ApplicationError<'_>,
) -> ErrorAction {
    let Some(server) = topology.servers.get(address) else {
        return ErrorAction::default();
    };
    let reported = reported_version(failure.error);
    if failure.generation < failure.pool_generation || is_stale(server.topology_version, reported) {
        return ErrorAction::default();
    }
    let action = match failure.phase {
        Phase::BeforeHandshakeCompletes => handshake_error_action(failure.error, reported),
        Phase::AfterHandshakeCompletes => operation_error_action(failure.error, reported),
    };
    if topology.kind != TopologyType::LoadBalanced {
        // A server that streams its state reports the change itself, by the check in progress. One whose
        // error has no `topologyVersion`, such as a proxy or an emulator, may not: the check in progress
        // ends, and another follows. So may a mongos that passes on the error of a shard, whose state it does not
        // stream: without the end of its check, it would remain Unknown until the await ends.
        return ErrorAction {
            cancel_await: action.check_now && reported.is_none(),
            ..action
        };
    }
    // The type of a load balancer does not change, and only the service of the connection is
    // cleared (Load Balancer specification, "Error handling").
    ErrorAction {
        clear_pool: action.clear_pool && failure.service_id.is_some(),
        ..ErrorAction::default()
    }
}

/// Whether the error of an operation can change a description or clear a pool: a state change
/// error, a network error, or a violation of the wire protocol.
pub fn concerns_server(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Network(_) | ErrorKind::Protocol(_)) || error.is_state_change()
}

fn operation_error_action(error: &Error, reported: Option<TopologyVersion>) -> ErrorAction {
    if error.is_state_change() {
        return ErrorAction {
            mark_unknown: true,
            topology_version: reported,
            clear_pool: error.is_server_shutdown(),
            check_now: true,
            ..ErrorAction::default()
        };
    }
    match error.kind() {
        // "Network error when reading or writing": a timeout of `socketTimeoutMS` does not mark the
        // server Unknown. A peer that the keepalive of the operating system found dead does.
        ErrorKind::Network(e) if !e.is_timeout() => LOST,
        // A violation of the wire protocol is handled like a network error.
        ErrorKind::Protocol(_) => LOST,
        _ => ErrorAction::default(),
    }
}

/// "Network error or command error during connection establishment". Errors labeled
/// `SystemOverloadedError` change nothing: the server is reachable, and clearing the pool would add
/// load (Client Backpressure specification).
fn handshake_error_action(error: &Error, reported: Option<TopologyVersion>) -> ErrorAction {
    if error.contains_label(SYSTEM_OVERLOADED_ERROR) {
        return ErrorAction::default();
    }
    ErrorAction {
        topology_version: reported,
        check_now: error.is_state_change(),
        cancel_check: error.is_network(),
        ..LOST
    }
}

/// What the error of a check changes (Server Monitoring, "Network or command error during server
/// check"). A timeout interrupts connections in use.
pub fn handle_check_error(error: &Error) -> ErrorAction {
    ErrorAction {
        interrupt_in_use: matches!(error.kind(), ErrorKind::Network(e) if e.io_kind() == io::ErrorKind::TimedOut),
        cancel_check: false,
        ..LOST
    }
}

const LOST: ErrorAction = ErrorAction {
    mark_unknown: true,
    topology_version: None,
    clear_pool: true,
    interrupt_in_use: false,
    check_now: false,
    cancel_check: true,
    cancel_await: false,
};

/// Whether an error is stale: its topology version is not newer than that of the description.
/// Equal is stale too, because every new state has a new version.
fn is_stale(known: Option<TopologyVersion>, reported: Option<TopologyVersion>) -> bool {
    matches!(
        compare_topology_versions(known, reported),
        Some(Ordering::Greater | Ordering::Equal)
    )
}

fn reported_version(error: &Error) -> Option<TopologyVersion> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Reply {
        topology_version: Option<TopologyVersion>,
    }
    let reply: Reply = from_slice(error.server_response()?.as_bytes()).ok()?;
    reply.topology_version
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bson::rawdoc,
        error::{CommandError, NetworkPhase},
        proto::description::ServerDescription,
    };
    use std::time::Instant;

    const ADDRESS: fn() -> ServerAddress = || ServerAddress::tcp("a", 1);

    fn topology(counter: Option<i64>) -> TopologyDescription {
        let mut server = ServerDescription::unknown(ADDRESS());
        server.topology_version = counter.map(|counter| TopologyVersion {
            process_id: ObjectId::from_bytes([1; 12]),
            counter,
        });
        server.last_update = Some(Instant::now());
        let mut topology = TopologyDescription::initial([ADDRESS()], false, None);
        topology.servers.insert(ADDRESS(), server);
        topology
    }

    fn failure(error: &Error, phase: Phase) -> ApplicationError<'_> {
        ApplicationError {
            error,
            phase,
            generation: 0,
            pool_generation: 0,
            service_id: None,
        }
    }

    fn used(error: &Error, counter: Option<i64>) -> ErrorAction {
        let failure = failure(error, Phase::AfterHandshakeCompletes);
        handle_application_error(&topology(counter), &ADDRESS(), &failure)
    }

    fn opened(error: &Error) -> ErrorAction {
        let failure = failure(error, Phase::BeforeHandshakeCompletes);
        handle_application_error(&topology(None), &ADDRESS(), &failure)
    }

    fn not_primary(code: i32, counter: i64) -> Error {
        let reply = rawdoc! { "ok": 0, "topologyVersion": { "processId": ObjectId::from_bytes([1; 12]), "counter": counter } };
        Error::new(ErrorKind::Command(CommandError {
            code,
            ..CommandError::default()
        }))
        .with_response(&reply)
    }

    fn network(kind: io::ErrorKind) -> Error {
        Error::network(NetworkPhase::Read, kind.into())
    }

    #[test]
    fn a_stepped_down_primary_is_unknown_and_keeps_its_pool() {
        let action = used(&not_primary(10107, 2), Some(1));
        assert!(action.mark_unknown && action.check_now && !action.clear_pool);
        assert_eq!(action.topology_version.unwrap().counter, 2);
        assert!(!action.cancel_await, "the server streams the change");
    }

    /// The check in progress of a server that streams its state would last until the next heartbeat.
    #[test]
    fn a_state_change_without_a_topology_version_ends_the_check_in_progress() {
        let error = Error::new(ErrorKind::Command(CommandError {
            code: 10107,
            ..CommandError::default()
        }));
        let action = used(&error, Some(1));
        assert!(action.mark_unknown && action.check_now && action.cancel_await && !action.cancel_check);
    }

    #[test]
    fn a_server_that_shuts_down_loses_its_pool() {
        assert!(used(&not_primary(91, 2), None).clear_pool);
    }

    #[test]
    fn a_write_concern_error_counts_like_that_of_a_command() {
        let concern = crate::WriteConcernError {
            code: 91,
            ..crate::WriteConcernError::default()
        };
        let single = ErrorKind::Write(crate::WriteFailure {
            write_concern_error: Some(concern.clone()),
            ..crate::WriteFailure::default()
        });
        let both = ErrorKind::Write(crate::WriteFailure {
            write_error: Some(crate::WriteError::default()),
            write_concern_error: Some(concern.clone()),
        });
        let many = ErrorKind::BulkWrite(Box::new(crate::BulkWriteError {
            write_concern_error: Some(concern),
            ..crate::BulkWriteError::default()
        }));
        for kind in [single, both, many] {
            let action = used(&Error::new(kind), None);
            assert!(action.mark_unknown && action.clear_pool && action.check_now);
        }
    }

    #[test]
    fn news_already_known_changes_nothing() {
        for known in [2, 3] {
            assert_eq!(used(&not_primary(10107, 2), Some(known)), ErrorAction::default());
        }
    }

    #[test]
    fn lost_sockets_count_and_slow_replies_do_not() {
        let action = used(&network(io::ErrorKind::ConnectionReset), None);
        assert!(action.mark_unknown && action.clear_pool && action.cancel_check && !action.check_now);
        assert_eq!(
            used(&network(io::ErrorKind::TimedOut), None),
            ErrorAction::default()
        );
        let dead = Error::network(NetworkPhase::Read, io::Error::from_raw_os_error(110));
        if cfg!(target_os = "linux") {
            assert!(used(&dead, None).mark_unknown, "ETIMEDOUT comes from a dead peer");
        }
        let other = Error::new(ErrorKind::Command(CommandError {
            code: 11000,
            ..CommandError::default()
        }));
        assert_eq!(used(&other, None), ErrorAction::default());
    }

    #[test]
    fn a_handshake_that_may_have_met_overload_changes_nothing() {
        for kind in [io::ErrorKind::ConnectionReset, io::ErrorKind::TimedOut] {
            let unlabeled = opened(&network(kind));
            assert!(unlabeled.mark_unknown && unlabeled.clear_pool);
            let labeled = network(kind).with_labels([SYSTEM_OVERLOADED_ERROR.to_owned()]);
            assert_eq!(opened(&labeled), ErrorAction::default());
        }
        let refused = Error::new(ErrorKind::Command(CommandError {
            code: 18,
            ..CommandError::default()
        }));
        assert!(opened(&refused).mark_unknown && opened(&refused).clear_pool);
        assert!(opened(&not_primary(11600, 2)).check_now);
    }

    #[test]
    fn an_error_of_an_older_generation_is_ignored() {
        let error = network(io::ErrorKind::ConnectionReset);
        for phase in [Phase::BeforeHandshakeCompletes, Phase::AfterHandshakeCompletes] {
            let failure = ApplicationError {
                pool_generation: 1,
                ..failure(&error, phase)
            };
            assert_eq!(
                handle_application_error(&topology(None), &ADDRESS(), &failure),
                ErrorAction::default()
            );
        }
    }

    #[test]
    fn behind_a_load_balancer_only_the_service_is_concerned() {
        let error = network(io::ErrorKind::ConnectionReset);
        let topology = TopologyDescription::load_balanced(ADDRESS());
        for phase in [Phase::BeforeHandshakeCompletes, Phase::AfterHandshakeCompletes] {
            let unidentified = failure(&error, phase);
            assert_eq!(
                handle_application_error(&topology, &ADDRESS(), &unidentified),
                ErrorAction::default()
            );
            let identified = ApplicationError {
                service_id: Some(ObjectId::from_bytes([1; 12])),
                ..unidentified
            };
            let cleared = ErrorAction {
                clear_pool: true,
                ..ErrorAction::default()
            };
            assert_eq!(
                handle_application_error(&topology, &ADDRESS(), &identified),
                cleared
            );
        }
    }

    #[test]
    fn a_check_that_times_out_releases_those_who_wait() {
        assert!(handle_check_error(&network(io::ErrorKind::TimedOut)).interrupt_in_use);
        let refused = handle_check_error(&network(io::ErrorKind::ConnectionRefused));
        assert!(refused.mark_unknown && refused.clear_pool && !refused.interrupt_in_use);
    }
}
