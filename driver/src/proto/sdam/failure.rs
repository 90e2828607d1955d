//! What an operation's error says about the server it ran on.

use std::cmp::Ordering;

use super::compare_topology_versions;
use crate::{
    Error, ErrorKind,
    bson::from_slice,
    proto::description::{ServerDescription, TopologyVersion},
};

/// What to do about a server after an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Mark the server unknown, at this state of it.
    pub mark_unknown: bool,
    /// The state of the server that the error reports.
    pub topology_version: Option<TopologyVersion>,
    /// Close the pool's connections.
    pub clear_pool: bool,
    /// Check the server at once.
    pub check_now: bool,
}

/// Judges an error of an operation that ran on an established connection of the pool's current generation.
pub fn judge(error: &Error, server: &ServerDescription) -> Verdict {
    if error.is_state_change() {
        let topology_version = reported_version(error);
        if is_stale(server.topology_version, topology_version) {
            return Verdict::default();
        }
        return Verdict {
            mark_unknown: true,
            topology_version,
            clear_pool: error.is_server_shutdown(),
            check_now: true,
        };
    }
    match error.kind() {
        // A slow reply says nothing about the server.
        ErrorKind::Network(e) if !e.is_timeout() || e.is_before_send() => LOST,
        // Bytes that make no sense: whatever answers there, it is no server to be trusted with more.
        ErrorKind::Protocol(_) => LOST,
        _ => Verdict::default(),
    }
}

/// Judges an error met while a connection was being established. The Client Backpressure specification lets errors that may
/// come from overload pass; that rule belongs together with its retries and their pauses, which this driver does not make
/// yet. Without them an operation would meet the same dead server twice.
pub fn judge_handshake(_error: &Error) -> Verdict {
    LOST
}

const LOST: Verdict = Verdict {
    mark_unknown: true,
    topology_version: None,
    clear_pool: true,
    check_now: false,
};

/// An error that describes a state the server is known to have left. Equal counts as stale: a new state is a new version.
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
        ServerAddress,
        bson::{ObjectId, rawdoc},
        error::{CommandError, NetworkPhase},
    };
    use std::time::Instant;

    fn server(counter: Option<i64>) -> ServerDescription {
        let mut server = ServerDescription::unknown(ServerAddress::tcp("a", 1));
        server.topology_version = counter.map(|counter| TopologyVersion {
            process_id: ObjectId::from_bytes([1; 12]),
            counter,
        });
        server.last_update = Some(Instant::now());
        server
    }

    fn not_primary(code: i32, counter: i64) -> Error {
        let reply = rawdoc! { "ok": 0, "topologyVersion": { "processId": ObjectId::from_bytes([1; 12]), "counter": counter } };
        Error::new(ErrorKind::Command(CommandError {
            code,
            ..CommandError::default()
        }))
        .with_response(&reply)
    }

    #[test]
    fn a_stepped_down_primary_is_unknown_and_keeps_its_pool() {
        let verdict = judge(&not_primary(10107, 2), &server(Some(1)));
        assert!(verdict.mark_unknown && verdict.check_now && !verdict.clear_pool);
        assert_eq!(verdict.topology_version.unwrap().counter, 2);
    }

    #[test]
    fn a_server_that_shuts_down_loses_its_pool() {
        assert!(judge(&not_primary(91, 2), &server(None)).clear_pool);
    }

    #[test]
    fn a_write_concern_error_counts_like_that_of_a_command() {
        let concern = crate::WriteConcernError {
            code: 91,
            ..crate::WriteConcernError::default()
        };
        let single = ErrorKind::Write(crate::WriteFailure::WriteConcern(concern.clone()));
        let many = ErrorKind::BulkWrite(Box::new(crate::BulkWriteError {
            write_concern_error: Some(concern),
            ..crate::BulkWriteError::default()
        }));
        for kind in [single, many] {
            let verdict = judge(&Error::new(kind), &server(None));
            assert!(verdict.mark_unknown && verdict.clear_pool && verdict.check_now);
        }
    }

    #[test]
    fn news_already_known_changes_nothing() {
        for known in [2, 3] {
            assert_eq!(
                judge(&not_primary(10107, 2), &server(Some(known))),
                Verdict::default()
            );
        }
    }

    #[test]
    fn lost_sockets_count_and_slow_replies_do_not() {
        let error = |kind: std::io::ErrorKind| Error::network(NetworkPhase::Read, kind.into());
        assert!(judge(&error(std::io::ErrorKind::ConnectionReset), &server(None)).clear_pool);
        assert_eq!(
            judge(&error(std::io::ErrorKind::TimedOut), &server(None)),
            Verdict::default()
        );
        let other = Error::new(ErrorKind::Command(CommandError {
            code: 11000,
            ..CommandError::default()
        }));
        assert_eq!(judge(&other, &server(None)), Verdict::default());
    }
}
