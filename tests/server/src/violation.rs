//! The rules of the protocol that every driver must keep, whatever the application does, and the record of those that were
//! broken. Most are broken by a command that the server refuses; that a session is in use is noticed here.

use crate::deployment::lock;
use crate::session_info::{session_id, shown, transaction_number};
use bson::Document;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Mutex;

/// A rule that a driver must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A message is at most `maxMessageSizeBytes` long, also when it is decompressed.
    MessageTooLarge,
    /// A `getMore` goes out in the session and the transaction of the command that made the cursor.
    CursorSession,
    /// A session is used by one command at a time. A command that the client has given up by closing its connection counts as
    /// running; it may be sent once more, and `killCursors`, `abortTransaction` and `endSessions` may follow it.
    SessionInUse,
    /// The level of a read concern belongs on reads that support it, and on the first command of a transaction. (`afterClusterTime`
    /// alone belongs on every command of a causally consistent session.)
    ReadConcern,
    /// A write concern belongs on writes, and on the last command of a transaction.
    WriteConcern,
    /// `lsid`, `txnNumber` and `autocommit` are well-formed, and on commands that take them.
    SessionFields,
    /// `$readPreference` is well-formed.
    ReadPreference,
    /// The `client` document is in the first hello only, is complete, and has at most 512 bytes.
    ClientMetadata,
}

/// A command or message that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub kind: ViolationKind,
    /// The command's name; empty if the message could not be read.
    pub command: String,
    /// The session that the command named, as a UUID.
    pub session: Option<String>,
    /// The connection, as `connectionId` of its hello.
    pub connection: i32,
    /// What was wrong.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", self.kind)?;
        if !self.command.is_empty() {
            write!(f, "`{}` ", self.command)?;
        }
        write!(f, "on connection {}", self.connection)?;
        if let Some(session) = &self.session {
            write!(f, " in session {session}")?;
        }
        write!(f, ": {}", self.detail)
    }
}

/// The violations of one server instance.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    state: Mutex<State>,
    /// Write each to standard error.
    print: bool,
}

#[derive(Debug, Default)]
struct State {
    found: Vec<Violation>,
    allowed: BTreeSet<ViolationKind>,
    uses: HashMap<Vec<u8>, Vec<Use>>,
    next: u64,
}

/// A command that runs in a session.
#[derive(Debug)]
struct Use {
    token: u64,
    connection: i32,
    command: String,
    number: Option<i64>,
    /// The client closed the connection before the reply.
    abandoned: bool,
    /// The same command came again on this connection. That is right only if the client has closed the first one's connection.
    repeated_on: Option<i32>,
}

/// Ends the use of a session when dropped.
pub(crate) struct SessionUse<'v> {
    violations: &'v Violations,
    session: Vec<u8>,
    token: u64,
}

impl Drop for SessionUse<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.violations.state);
        if let Some(uses) = state.uses.get_mut(&self.session) {
            uses.retain(|other| other.token != self.token || other.abandoned || other.repeated_on.is_some());
            if uses.is_empty() {
                state.uses.remove(&self.session);
            }
        }
    }
}

/// Whether a command may run beside others of its session: it ends what they have begun.
fn ends_others(command: &str) -> bool {
    matches!(
        command,
        "killCursors" | "abortTransaction" | "endSessions" | "killSessions"
    )
}

impl Violations {
    pub(crate) fn new(print: bool) -> Violations {
        Violations {
            print,
            ..Violations::default()
        }
    }

    /// Records a violation, unless its kind is allowed.
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

    /// Does not record this kind, and forgets those of it that were recorded.
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

    /// Notes that a command begins to run in its session, if it names one.
    pub(crate) fn enter(&self, body: &Document, connection: i32) -> Option<SessionUse<'_>> {
        let session = session_id(body).ok().flatten()?;
        let command = body.keys().next()?.clone();
        let number = transaction_number(body).ok().flatten();
        let mut detail = None;
        let mut state = lock(&self.state);
        state.next += 1;
        let token = state.next;
        let uses = state.uses.entry(session.clone()).or_default();
        if !ends_others(&command) {
            for other in uses.iter_mut().filter(|other| !ends_others(&other.command)) {
                let same = other.command == command && other.number == number;
                if !same {
                    let how = if other.abandoned {
                        "was given up by the client, and may still run,"
                    } else {
                        "still runs"
                    };
                    detail = Some(format!(
                        "`{}` {how} in this session on connection {}",
                        other.command, other.connection
                    ));
                } else if !other.abandoned {
                    other.repeated_on = Some(connection);
                }
            }
            // What the client has given up is reported once, and its repetition takes its place.
            uses.retain(|other| !other.abandoned);
        } else if command == "abortTransaction" {
            uses.retain(|other| !other.abandoned);
        }
        uses.push(Use {
            token,
            connection,
            command,
            number,
            abandoned: false,
            repeated_on: None,
        });
        drop(state);
        if let Some(detail) = detail {
            self.record_command(ViolationKind::SessionInUse, body, connection, detail);
        }
        Some(SessionUse {
            violations: self,
            session,
            token,
        })
    }

    /// Notes that the client has closed a connection while its command ran. To be called before the command is cancelled.
    pub(crate) fn abandon(&self, connection: i32) {
        let mut state = lock(&self.state);
        for uses in state.uses.values_mut() {
            for other in uses.iter_mut().filter(|other| other.connection == connection) {
                // Its repetition has come already, and has taken its place.
                other.abandoned = other.repeated_on.is_none();
                other.repeated_on = None;
            }
        }
    }

    /// Whether a command that has just ended on this connection was sent once more meanwhile. If so, the client must have closed
    /// the connection; [`settle`](Self::settle) says whether it has.
    pub(crate) fn is_repeated(&self, connection: i32) -> bool {
        lock(&self.state)
            .uses
            .values()
            .flatten()
            .any(|other| other.connection == connection && other.repeated_on.is_some())
    }

    /// Ends the doubt about a repeated command.
    pub(crate) fn settle(&self, connection: i32, body: &Document, closed: bool) {
        let mut repeated_on = None;
        let mut state = lock(&self.state);
        state.uses.retain(|_, uses| {
            uses.retain(|other| {
                let doubtful = other.connection == connection && other.repeated_on.is_some();
                if doubtful {
                    repeated_on = other.repeated_on;
                }
                !doubtful
            });
            !uses.is_empty()
        });
        drop(state);
        if let Some(other) = repeated_on.filter(|_| !closed) {
            let detail = format!("it was sent again on connection {other} before its reply");
            self.record_command(ViolationKind::SessionInUse, body, connection, detail);
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
    fn a_command_that_was_given_up_may_be_repeated_only() {
        let violations = Violations::default();
        let give_up = |number| {
            let running = violations.enter(&command("insert", number), 1);
            violations.abandon(1);
            drop(running);
        };
        give_up(1);
        drop(violations.enter(&command("insert", 1), 2));
        drop(violations.enter(&command("find", 2), 2));
        assert_eq!(kinds(&violations), [], "the repetition has ended");
        give_up(3);
        drop(violations.enter(&command("insert", 4), 2));
        assert_eq!(kinds(&violations), [ViolationKind::SessionInUse]);
        drop(violations.enter(&command("insert", 5), 2));
        assert_eq!(violations.all().len(), 1, "reported once");
    }

    #[test]
    fn a_repetition_needs_the_first_connection_to_be_closed() {
        let violations = Violations::default();
        for (closed, expected) in [(true, 0), (false, 1)] {
            let first = violations.enter(&command("insert", 1), 1);
            let second = violations.enter(&command("insert", 1), 2);
            drop(first);
            assert!(violations.is_repeated(1) && !violations.is_repeated(2));
            violations.settle(1, &command("insert", 1), closed);
            drop(second);
            assert_eq!(violations.take().len(), expected);
        }
        assert!(lock(&violations.state).uses.is_empty());
    }

    #[test]
    fn allowed_kinds_are_not_recorded() {
        let violations = Violations::default();
        let record = |kind| violations.record_command(kind, &doc! { "ping": 1 }, 1, "why");
        record(ViolationKind::WriteConcern);
        record(ViolationKind::ReadConcern);
        violations.allow(ViolationKind::WriteConcern);
        record(ViolationKind::WriteConcern);
        assert_eq!(kinds(&violations), [ViolationKind::ReadConcern]);
        assert_eq!(
            violations.all()[0].to_string(),
            "ReadConcern: `ping` on connection 1: why"
        );
    }
}
