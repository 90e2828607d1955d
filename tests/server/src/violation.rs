//! Protocol violations: commands and messages that a correct driver does not send, unless the
//! application has composed the command itself. Most are detected where the server rejects the
//! command; concurrent use of a session is detected here.

use crate::deployment::lock;
use crate::session_info::{session_id, shown, transaction_number};
use bson::Document;
use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

mod kind;
pub(crate) mod literal;

pub use kind::{Violation, ViolationKind};

/// The violations of one server instance.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    state: Mutex<State>,
    /// Whether each is written to standard error.
    print: bool,
}

#[derive(Debug, Default)]
struct State {
    found: Vec<Violation>,
    allowed: BTreeSet<ViolationKind>,
    uses: HashMap<Vec<u8>, Vec<Use>>,
    repeats: Vec<Repeat>,
    next: u64,
}

/// A command that runs in a session.
#[derive(Debug)]
struct Use {
    token: u64,
    connection: i32,
    command: String,
    number: Option<i64>,
    in_transaction: bool,
    opens_stream: bool,
    /// Whether the client closed the connection before the reply.
    abandoned: bool,
}

/// A command that was received on two connections at the same time. That is a retry if the client
/// has closed one of them, which can be the second one: a request can arrive after its retry.
#[derive(Debug)]
struct Repeat {
    command: String,
    session: String,
    /// The two are commands of different transactions.
    is_next: bool,
    /// In the order of arrival.
    connections: [i32; 2],
    /// The connection that the client has not closed, once that is known of one.
    open: Option<i32>,
}

impl Repeat {
    fn is_on(&self, connection: i32) -> bool {
        self.connections.contains(&connection)
    }
}

/// Ends the use of the session when dropped, unless the command was abandoned.
pub(crate) struct SessionUse<'v> {
    violations: &'v Violations,
    session: Vec<u8>,
    token: u64,
}

impl Drop for SessionUse<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.violations.state);
        if let Some(uses) = state.uses.get_mut(&self.session) {
            uses.retain(|other| other.token != self.token || other.abandoned);
            if uses.is_empty() {
                state.uses.remove(&self.session);
            }
        }
    }
}

/// Whether a command may run concurrently with others of its session, because it terminates what
/// they have started.
fn ends_others(command: &str) -> bool {
    matches!(
        command,
        "killCursors" | "abortTransaction" | "endSessions" | "killSessions"
    )
}

/// Whether a command opens a change stream. If a `getMore` of the session has no reply, that is a
/// resume: "the resume attempt MUST use the same session" (Change Streams).
fn opens_stream(body: &Document) -> bool {
    let stages = body.get_array("pipeline").ok();
    let first = stages.and_then(|stages| stages.first()?.as_document());
    body.contains_key("aggregate") && first.is_some_and(|stage| stage.contains_key("$changeStream"))
}

/// Whether a command is part of a transaction.
fn is_in_transaction(body: &Document) -> bool {
    body.contains_key("autocommit")
}

impl Violations {
    pub(crate) fn new(print: bool) -> Violations {
        Violations {
            print,
            ..Violations::default()
        }
    }

    /// Records a violation unless its kind is allowed.
    pub(crate) fn record(&self, violation: Violation) {
        let mut state = lock(&self.state);
        if state.allowed.contains(&violation.kind) {
            return;
        }
        if self.print {
            eprintln!("protocol violation: {violation}");
        }
        state.found.push(violation);
    }

    /// Records a violation by a command.
    pub(crate) fn record_command(
        &self,
        kind: ViolationKind,
        body: &Document,
        connection: i32,
        detail: impl Into<String>,
    ) {
        self.record(Violation {
            kind,
            command: body.keys().next().cloned().unwrap_or_default(),
            session: session_id(body).ok().flatten().map(|id| shown(&id)),
            connection,
            detail: detail.into(),
        });
    }

    /// Stops recording this kind and clears its recorded violations.
    pub(crate) fn allow(&self, kind: ViolationKind) {
        let mut state = lock(&self.state);
        state.allowed.insert(kind);
        state.found.retain(|violation| violation.kind != kind);
    }

    pub(crate) fn all(&self) -> Vec<Violation> {
        lock(&self.state).found.clone()
    }

    pub(crate) fn take(&self) -> Vec<Violation> {
        std::mem::take(&mut lock(&self.state).found)
    }

    /// Registers a command as running in its session, if it has one.
    pub(crate) fn enter(&self, body: &Document, connection: i32) -> Option<SessionUse<'_>> {
        let session = session_id(body).ok().flatten()?;
        let command = body.keys().next()?.clone();
        let number = transaction_number(body).ok().flatten();
        let opens_stream = opens_stream(body);
        let in_transaction = is_in_transaction(body);
        let mut detail = None;
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        state.next += 1;
        let token = state.next;
        let uses = state.uses.entry(session.clone()).or_default();
        if !ends_others(&command) {
            for other in uses.iter().filter(|other| !ends_others(&other.command)) {
                // A getMore can also arrive after the resume.
                let same = (other.command == command && other.number == number)
                    || (other.command == "getMore" && opens_stream)
                    || (command == "getMore" && other.opens_stream);
                let is_repeated = state.repeats.iter().any(|repeat| repeat.is_on(other.connection));
                // The next transaction of an explicit session, after an abort that was lost. It can
                // also arrive before the end of the connection, or before the lost command.
                let is_next = other.in_transaction && in_transaction && other.number != number;
                if other.abandoned && is_next && number > other.number {
                    continue;
                }
                let same = same || is_next;
                // A request that arrived after its retry can still be running: `settle` decides.
                if !same && is_repeated {
                    continue;
                }
                if !same {
                    let state = if other.abandoned {
                        "was abandoned by the client and may still be running"
                    } else {
                        "is still running"
                    };
                    detail = Some(format!(
                        "`{}` {state} in this session on connection {}",
                        other.command, other.connection
                    ));
                } else if !other.abandoned {
                    state.repeats.push(Repeat {
                        command: command.clone(),
                        session: shown(&session),
                        is_next,
                        connections: [other.connection, connection],
                        open: None,
                    });
                }
            }
            // An abandoned command is reported once; a retry replaces it.
            uses.retain(|other| !other.abandoned);
        } else if command == "abortTransaction" {
            uses.retain(|other| !other.abandoned);
        }
        uses.push(Use {
            token,
            connection,
            command,
            number,
            in_transaction,
            opens_stream,
            abandoned: false,
        });
        drop(guard);
        if let Some(detail) = detail {
            self.record_command(ViolationKind::SessionInUse, body, connection, detail);
        }
        Some(SessionUse {
            violations: self,
            session,
            token,
        })
    }

    /// Marks the running command of a connection as abandoned, because the client closed the
    /// connection. Must be called before the command is cancelled.
    pub(crate) fn abandon(&self, connection: i32) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        // If it was already retried, the retry has replaced it.
        let is_repeated = state.repeats.iter().any(|repeat| repeat.is_on(connection));
        for other in state.uses.values_mut().flatten() {
            if other.connection == connection {
                other.abandoned = !is_repeated;
            }
        }
    }

    /// Whether the last command of this connection was also received on another one before it
    /// completed. Then the caller must find out whether the client has closed this connection, and
    /// call [`settle`](Self::settle).
    pub(crate) fn is_repeated(&self, connection: i32) -> bool {
        let state = lock(&self.state);
        state
            .repeats
            .iter()
            .any(|repeat| repeat.is_on(connection) && repeat.open != Some(connection))
    }

    /// Settles whether a repeated command of this connection was a retry: records a violation if the
    /// client has closed neither of the two connections.
    pub(crate) fn settle(&self, connection: i32, closed: bool) {
        let mut open = Vec::new();
        let mut state = lock(&self.state);
        state.repeats.retain_mut(|repeat| {
            if !repeat.is_on(connection) {
                return true;
            }
            if !closed && repeat.open.is_none_or(|open| open == connection) {
                repeat.open = Some(connection);
                return true;
            }
            if !closed {
                open.push(Repeat {
                    command: std::mem::take(&mut repeat.command),
                    session: std::mem::take(&mut repeat.session),
                    ..*repeat
                });
            }
            false
        });
        drop(state);
        for Repeat {
            command,
            session,
            is_next,
            connections: [connection, second],
            ..
        } in open
        {
            let what = if is_next {
                "a command of another transaction was sent"
            } else {
                "sent again"
            };
            self.record(Violation {
                kind: ViolationKind::SessionInUse,
                command,
                session: Some(session),
                connection,
                detail: format!(
                    "{what} on connection {second} before the reply, and neither connection was closed"
                ),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn command(name: &str, number: i64) -> Document {
        doc! { name: "c", "lsid": { "id": bson::Uuid::from_bytes([7; 16]) }, "txnNumber": number }
    }

    fn kinds(violations: &Violations) -> Vec<ViolationKind> {
        violations.all().iter().map(|violation| violation.kind).collect()
    }

    #[test]
    fn a_session_is_used_by_one_command_at_a_time() {
        let violations = Violations::default();
        let first = violations.enter(&command("insert", 1), 1);
        assert!(violations.enter(&doc! { "ping": 1 }, 2).is_none());
        drop(violations.enter(&command("killCursors", 1), 2));
        assert_eq!(kinds(&violations), []);
        drop(violations.enter(&command("update", 2), 2));
        assert_eq!(kinds(&violations), [ViolationKind::SessionInUse]);
        drop(first);
        drop(violations.enter(&command("update", 3), 2));
        assert_eq!(violations.take().len(), 1);
    }

    #[test]
    fn after_an_abandoned_command_only_its_retry_is_allowed() {
        let violations = Violations::default();
        let abandon = |number| {
            let running = violations.enter(&command("insert", number), 1);
            violations.abandon(1);
            drop(running);
        };
        abandon(1);
        drop(violations.enter(&command("insert", 1), 2));
        drop(violations.enter(&command("find", 2), 2));
        assert_eq!(kinds(&violations), [], "the retry has completed");
        abandon(3);
        drop(violations.enter(&command("insert", 4), 2));
        assert_eq!(kinds(&violations), [ViolationKind::SessionInUse]);
        drop(violations.enter(&command("insert", 5), 2));
        assert_eq!(violations.all().len(), 1, "reported once");
    }

    #[test]
    fn a_retry_requires_that_one_of_the_connections_is_closed() {
        let violations = Violations::default();
        for (closed, expected) in [
            ([true, false], 0),
            // The request arrived after its retry.
            ([false, true], 0),
            ([false, false], 1),
        ] {
            let first = violations.enter(&command("insert", 1), 1);
            let second = violations.enter(&command("insert", 1), 2);
            drop(first);
            assert!(violations.is_repeated(1) && violations.is_repeated(2));
            violations.settle(1, closed[0]);
            assert!(!violations.is_repeated(1));
            if !closed[0] {
                // The client has the reply, while the late request may still be running.
                drop(violations.enter(&command("insert", 2), 1));
            }
            drop(second);
            violations.settle(2, closed[1]);
            assert_eq!(violations.take().len(), expected, "{closed:?}");
            assert!(!violations.is_repeated(1) && !violations.is_repeated(2));
        }
        let state = lock(&violations.state);
        assert!(state.uses.is_empty() && state.repeats.is_empty());
    }

    #[test]
    fn a_change_stream_is_resumed_in_the_session_of_an_abandoned_get_more() {
        let violations = Violations::default();
        let mut resume = command("aggregate", 1);
        resume.insert("pipeline", vec![doc! { "$changeStream": {} }]);
        for is_noticed_before in [true, false] {
            let running = violations.enter(&command("getMore", 1), 1);
            if is_noticed_before {
                violations.abandon(1);
            }
            let resumed = violations.enter(&resume, 2);
            drop(running);
            violations.settle(1, true);
            drop(resumed);
        }
        let resumed = violations.enter(&resume, 2);
        let late = violations.enter(&command("getMore", 1), 1);
        drop(resumed);
        violations.settle(2, false);
        violations.settle(1, true);
        drop(late);
        assert_eq!(kinds(&violations), []);
        for (first, second) in [
            (command("getMore", 1), command("aggregate", 1)),
            (command("aggregate", 1), command("getMore", 1)),
        ] {
            let running = violations.enter(&first, 1);
            drop(violations.enter(&second, 2));
            drop(running);
            assert_eq!(kinds(&violations), [ViolationKind::SessionInUse]);
            drop(violations.take());
        }
        let resumed = violations.enter(&resume, 2);
        drop(violations.enter(&command("getMore", 1), 1));
        drop(resumed);
        violations.settle(1, false);
        violations.settle(2, false);
        assert_eq!(kinds(&violations), [ViolationKind::SessionInUse]);
    }

    #[test]
    fn the_next_transaction_follows_one_whose_abort_was_lost() {
        let violations = Violations::default();
        let in_transaction = |name, number| {
            let mut command = command(name, number);
            command.insert("autocommit", false);
            command
        };
        for (next, expected) in [(2, 0), (1, 1)] {
            let running = violations.enter(&in_transaction("update", 1), 1);
            violations.abandon(1);
            drop(violations.enter(&in_transaction("find", next), 2));
            drop(running);
            assert_eq!(violations.take().len(), expected, "{next}");
        }
        // The lost command can arrive after the next transaction, and the end of its connection after
        // both; but one of the two connections must be closed.
        for ([first, second], closed, expected) in [
            ([1, 2], [true, false], 0),
            ([2, 1], [false, true], 0),
            ([1, 2], [false, false], 1),
        ] {
            let running = violations.enter(&in_transaction("update", first), 1);
            let other = violations.enter(&in_transaction("update", second), 2);
            drop(running);
            violations.settle(1, closed[0]);
            drop(other);
            violations.settle(2, closed[1]);
            assert_eq!(violations.take().len(), expected, "{first}, {second}");
        }
    }

    #[test]
    fn allowed_kinds_are_not_recorded() {
        let violations = Violations::default();
        let record = |kind| violations.record_command(kind, &doc! { "ping": 1 }, 1, "detail");
        record(ViolationKind::WriteConcern);
        record(ViolationKind::ReadConcern);
        violations.allow(ViolationKind::WriteConcern);
        record(ViolationKind::WriteConcern);
        assert_eq!(kinds(&violations), [ViolationKind::ReadConcern]);
        assert_eq!(
            violations.all()[0].to_string(),
            "ReadConcern: `ping` on connection 1: detail"
        );
    }
}
