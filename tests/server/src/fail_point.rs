//! `configureFailPoint`: `failCommand`, `failGetMoreAfterCursorCheckout` and
//! `onPrimaryTransactionalWrite`, for each process. The option `topologyVersion` of `failCommand` is
//! one of this server.

use crate::deployment::lock;
use crate::error::{Error, Result};
use crate::value::number::Number;
use bson::{Bson, Document};
use std::sync::Mutex;
use std::time::Duration;

/// The `mode` of a fail point that is not off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Always,
    /// Triggers this number of times.
    Times(i64),
    /// Skips this number of matching commands, then always triggers.
    Skip(i64),
}

#[derive(Debug, Clone)]
struct FailCommand {
    mode: Mode,
    commands: Vec<String>,
    app_name: Option<String>,
    namespace: Option<String>,
    effect: Effect,
}

/// The `topologyVersion` of an error that a fail point returns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum TopologyVersion {
    /// No field.
    #[default]
    Absent,
    /// That of the process, if the error is a state change error.
    Current,
    /// This document, with any error.
    Given(Document),
}

/// The effect of a fail point on a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effect {
    /// Wait for this time first.
    pub(crate) block: Option<Duration>,
    /// Close the connection without running the command.
    pub(crate) close: bool,
    /// Reply with this error code without running the command.
    pub(crate) error_code: Option<i32>,
    /// The error labels, instead of those that the server adds.
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) topology_version: TopologyVersion,
    /// Whether a `getMore` fails after its cursor was found, so that error labels depend on the
    /// cursor.
    pub(crate) in_cursor: bool,
    /// Run the command and add this `writeConcernError` to the reply.
    pub(crate) write_concern_error: Option<Document>,
}

/// The effect of `onPrimaryTransactionalWrite` on a retryable write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransactionalWrite {
    /// Fail with this error code before the write instead of after it.
    pub(crate) before_commit: Option<i32>,
    pub(crate) close: bool,
}

#[derive(Debug, Default)]
struct State {
    fail_command: Option<FailCommand>,
    /// `failGetMoreAfterCursorCheckout`.
    fail_get_more: Option<FailCommand>,
    transactional_write: Option<(Mode, TransactionalWrite)>,
}

/// The fail points of one process.
#[derive(Debug, Default)]
pub(crate) struct FailPoints(Mutex<State>);

impl FailPoints {
    /// Runs a `configureFailPoint` command.
    pub(crate) fn configure(&self, body: &Document) -> Result<()> {
        let name = match body.get("configureFailPoint") {
            Some(Bson::String(name)) => name.as_str(),
            _ => {
                return Err(Error::type_mismatch(
                    "BSON field 'configureFailPoint' must be a string",
                ));
            }
        };
        let mode = parse_mode(body.get("mode"))?;
        let empty = Document::new();
        let data = match body.get("data") {
            None => &empty,
            Some(Bson::Document(data)) => data,
            Some(_) => {
                return Err(Error::type_mismatch(
                    "BSON field 'configureFailPoint.data' must be an object",
                ));
            }
        };
        let mut state = lock(&self.0);
        match name {
            "failCommand" => {
                state.fail_command = mode.map(|mode| FailCommand::parse(mode, data)).transpose()?;
            }
            "failGetMoreAfterCursorCheckout" => {
                state.fail_get_more =
                    mode.map(|mode| FailCommand::parse(mode, data))
                        .transpose()?
                        .map(|point| FailCommand {
                            commands: vec!["getMore".to_owned()],
                            effect: Effect {
                                in_cursor: true,
                                ..point.effect
                            },
                            ..point
                        });
            }
            "onPrimaryTransactionalWrite" => {
                state.transactional_write = match mode {
                    None => None,
                    Some(mode) => Some((mode, transactional_write(data)?)),
                };
            }
            other => return Err(Error::bad_value(format!("failpoint not found: {other}"))),
        }
        Ok(())
    }

    /// Returns the effect of `failCommand` on this command, and counts the command.
    pub(crate) fn on_command(
        &self,
        command: &str,
        app_name: Option<&str>,
        namespace: &str,
    ) -> Option<Effect> {
        let mut state = lock(&self.0);
        let State {
            fail_command,
            fail_get_more,
            ..
        } = &mut *state;
        [fail_command, fail_get_more]
            .into_iter()
            .flatten()
            .find_map(|point| point.on_command(command, app_name, namespace))
    }

    /// Whether `onPrimaryTransactionalWrite` is active.
    pub(crate) fn has_transactional_write(&self) -> bool {
        lock(&self.0).transactional_write.is_some()
    }

    /// Returns the effect of `onPrimaryTransactionalWrite` on the next storage transaction of a
    /// retryable write, and counts the transaction.
    pub(crate) fn on_transactional_write(&self) -> Option<TransactionalWrite> {
        let mut state = lock(&self.0);
        let (mode, effect) = state.transactional_write.as_mut()?;
        triggers(mode).then_some(*effect)
    }

    /// Turns all fail points off.
    pub(crate) fn clear(&self) {
        *lock(&self.0) = State::default();
    }
}

fn triggers(mode: &mut Mode) -> bool {
    match mode {
        Mode::Always => true,
        Mode::Times(left) => {
            *left -= 1;
            *left >= 0
        }
        Mode::Skip(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Mode::Skip(_) => true,
    }
}

/// Parses `mode`; `None` means `off`.
fn parse_mode(mode: Option<&Bson>) -> Result<Option<Mode>> {
    let count = |value: &Bson| {
        Number::from_bson(value)
            .and_then(Number::to_exact_i64)
            .filter(|count| *count >= 0)
            .ok_or_else(|| {
                Error::bad_value("'times' and 'skip' options of a fail point must be non-negative integers")
            })
    };
    match mode {
        Some(Bson::String(mode)) if mode == "off" => Ok(None),
        Some(Bson::String(mode)) if mode == "alwaysOn" => Ok(Some(Mode::Always)),
        Some(Bson::Document(mode)) if mode.len() == 1 => match mode.iter().next() {
            Some((name, value)) if name == "times" => Ok(Some(Mode::Times(count(value)?))),
            Some((name, value)) if name == "skip" => Ok(Some(Mode::Skip(count(value)?))),
            _ => Err(Error::bad_value(
                "'mode' must be 'off', 'alwaysOn', {times: n} or {skip: n}",
            )),
        },
        _ => Err(Error::bad_value(
            "'mode' must be 'off', 'alwaysOn', {times: n} or {skip: n}",
        )),
    }
}

fn transactional_write(data: &Document) -> Result<TransactionalWrite> {
    let before_commit = match data.get("failBeforeCommitExceptionCode") {
        None => None,
        Some(value) => Some(integer("failBeforeCommitExceptionCode", value)? as i32),
    };
    let close = data.get("closeConnection").is_none_or(crate::value::truthy);
    Ok(TransactionalWrite { before_commit, close })
}

fn integer(name: &str, value: &Bson) -> Result<i64> {
    Number::from_bson(value)
        .and_then(Number::to_exact_i64)
        .ok_or_else(|| Error::type_mismatch(format!("fail point option '{name}' must be an integer")))
}

impl FailCommand {
    fn on_command(&mut self, command: &str, app_name: Option<&str>, namespace: &str) -> Option<Effect> {
        let applies = self
            .commands
            .iter()
            .any(|name| name.eq_ignore_ascii_case(command))
            && self.app_name.as_deref().is_none_or(|name| Some(name) == app_name)
            && self.namespace.as_deref().is_none_or(|name| name == namespace);
        if !applies || !triggers(&mut self.mode) {
            return None;
        }
        Some(self.effect.clone())
    }

    fn parse(mode: Mode, data: &Document) -> Result<FailCommand> {
        let mut point = FailCommand {
            mode,
            commands: Vec::new(),
            app_name: None,
            namespace: None,
            effect: Effect::default(),
        };
        let mut blocks = false;
        let mut block_time = None;
        let texts = |name: &str, value: &Bson| match value {
            Bson::Array(items) => items
                .iter()
                .map(|item| match item {
                    Bson::String(text) => Ok(text.clone()),
                    _ => Err(Error::type_mismatch(format!(
                        "'{name}' must be an array of strings"
                    ))),
                })
                .collect::<Result<Vec<_>>>(),
            _ => Err(Error::type_mismatch(format!(
                "'{name}' must be an array of strings"
            ))),
        };
        for (name, value) in data {
            match (name.as_str(), value) {
                ("failCommands", value) => point.commands = texts(name, value)?,
                ("errorLabels", value) => point.effect.labels = Some(texts(name, value)?),
                ("errorCode", value) => point.effect.error_code = Some(integer(name, value)? as i32),
                ("closeConnection", Bson::Boolean(on)) => point.effect.close = *on,
                ("blockConnection", Bson::Boolean(on)) => blocks = *on,
                ("blockTimeMS", value) => block_time = Some(integer(name, value)?),
                ("appName", Bson::String(app)) => point.app_name = Some(app.clone()),
                ("namespace", Bson::String(namespace)) => point.namespace = Some(namespace.clone()),
                ("writeConcernError", Bson::Document(error)) => {
                    point.effect.write_concern_error = Some(error.clone());
                }
                ("topologyVersion", Bson::Boolean(true)) => {
                    point.effect.topology_version = TopologyVersion::Current;
                }
                ("topologyVersion", Bson::Document(version)) => {
                    point.effect.topology_version = TopologyVersion::Given(version.clone());
                }
                ("failInternalCommands" | "topologyVersion", Bson::Boolean(_)) => {}
                _ => return Err(Error::not_served(format!("failCommand option {name}: {value}"))),
            }
        }
        if blocks {
            let millis = block_time.filter(|millis| *millis >= 0).ok_or_else(|| {
                Error::bad_value(
                    "'blockTimeMS' must be set to a non-negative value when 'blockConnection' is true",
                )
            })?;
            point.effect.block = Some(Duration::from_millis(millis as u64));
        }
        Ok(point)
    }
}

impl Effect {
    /// The error to reply with instead of running the command.
    pub(crate) fn error(&self) -> Option<Error> {
        let code = self.error_code?;
        let mut error = Error::new(code, "Failing command via 'failCommand' failpoint");
        error.labels.clone_from(&self.labels);
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn configured(mode: impl Into<Bson>, data: Document) -> FailPoints {
        let points = FailPoints::default();
        points
            .configure(&doc! {"configureFailPoint": "failCommand", "mode": mode, "data": data})
            .unwrap();
        points
    }

    fn triggers_on(points: &FailPoints, command: &str) -> bool {
        points.on_command(command, Some("app"), "db.c").is_some()
    }

    #[test]
    fn times_counts_matching_commands_only() {
        let points = configured(doc! {"times": 2}, doc! {"failCommands": ["find"], "errorCode": 8});
        let triggered: Vec<bool> = ["find", "insert", "find", "find"]
            .iter()
            .map(|command| triggers_on(&points, command))
            .collect();
        assert_eq!(triggered, [true, false, true, false]);
    }

    #[test]
    fn skip_and_off() {
        let points = configured(
            doc! {"skip": 1},
            doc! {"failCommands": ["find"], "closeConnection": true},
        );
        assert_eq!(
            [triggers_on(&points, "find"), triggers_on(&points, "find")],
            [false, true]
        );
        points
            .configure(&doc! {"configureFailPoint": "failCommand", "mode": "off"})
            .unwrap();
        assert!(!triggers_on(&points, "find"));
    }

    #[test]
    fn app_name_restricts_the_connections() {
        let points = configured("alwaysOn", doc! {"failCommands": ["find"], "appName": "other"});
        assert!(!triggers_on(&points, "find"));
        assert!(points.on_command("find", Some("other"), "db.c").is_some());
    }

    #[test]
    fn invalid_options_are_rejected() {
        let points = FailPoints::default();
        let configure = |body: Document| points.configure(&body).unwrap_err().code;
        assert_eq!(configure(doc! {"configureFailPoint": "foo", "mode": "off"}), 2);
        assert_eq!(
            configure(doc! {"configureFailPoint": "failCommand", "mode": 1}),
            2
        );
        let data = doc! {"failCommands": ["find"], "blockConnection": true};
        assert_eq!(
            configure(doc! {"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data}),
            2
        );
    }
}
