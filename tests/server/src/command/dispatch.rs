//! From a request's document to its reply: fail points, the command table, the checks that every command shares.

use super::{Call, generic, hello, table};
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::member::Member;
use crate::wire::connection::Client;
use bson::{Bson, Document};
use std::sync::Arc;
use table::{Access, Command};

/// What to do with the connection after a command.
#[derive(Debug)]
pub(crate) enum Outcome {
    Reply(Document),
    Close,
}

/// Codes after which a retryable write is worth another attempt.
const RETRYABLE_CODES: [i32; 12] = [6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436];

/// Runs a command.
pub(crate) async fn dispatch(
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    client: &mut Client,
    body: &Document,
) -> Outcome {
    let key = body.keys().next().map_or("", String::as_str);
    deployment.events.command_seen(key);
    if hello::is_hello(key) {
        hello::note_client(client, body);
    }
    let db = match body.get("$db") {
        Some(Bson::String(db)) => db.as_str(),
        _ => {
            let error = Error::new(40571, "OP_MSG requests require a $db argument");
            return Outcome::Reply(finish(deployment, member, body, Err(error)));
        }
    };
    let target = match body.get(key) {
        Some(Bson::String(collection)) => format!("{db}.{collection}"),
        _ => db.to_owned(),
    };
    let effect = if key == "configureFailPoint" {
        None
    } else {
        member
            .fail_points
            .on_command(key, client.app_name.as_deref(), &target)
    };
    if let Some(effect) = &effect {
        if let Some(block) = effect.block {
            tokio::time::sleep(block).await;
        }
        if effect.close {
            return Outcome::Close;
        }
        if let Some(error) = effect.error() {
            return Outcome::Reply(finish(deployment, member, body, Err(error)));
        }
    }
    let result = match table::find(key) {
        None => Err(Error::new(
            code::COMMAND_NOT_FOUND,
            format!("no such command: '{key}'"),
        )),
        Some(command) if hello::is_hello(command.name) => {
            match prepare(command, deployment, member, client, key, db, body) {
                Ok(()) => {
                    let answered = hello::run(deployment, member, client, body, key).await;
                    client.greeted |= answered.is_ok();
                    answered
                }
                Err(error) => Err(error),
            }
        }
        Some(command) => {
            let write_point = if command.retryable_write && body.contains_key("txnNumber") {
                member.fail_points.on_transactional_write()
            } else {
                None
            };
            if let Some(point) = write_point
                && let Some(code) = point.before_commit
            {
                if point.close {
                    return Outcome::Close;
                }
                let error = Error::new(code, "Failing write via 'onPrimaryTransactionalWrite' failpoint");
                return Outcome::Reply(finish(deployment, member, body, Err(error)));
            }
            let result = prepare(command, deployment, member, client, key, db, body).and_then(|()| {
                let call = Call {
                    deployment,
                    member,
                    client,
                    name: command.name,
                    key,
                    db,
                    body,
                };
                (command.run)(&call)
            });
            if write_point.is_some_and(|point| point.close) {
                return Outcome::Close;
            }
            result
        }
    };
    let ran = result.is_ok();
    let writes = table::find(key).is_some_and(|command| command.access == Access::Write);
    let mut reply = finish(deployment, member, body, result);
    if ran
        && let Some(error) = effect
            .as_ref()
            .and_then(|effect| effect.write_concern_error.clone())
    {
        add_write_concern_error(&mut reply, error, body, effect.and_then(|effect| effect.labels));
    } else if ran
        && writes
        && let Some(error) = generic::unsatisfied_write_concern(deployment, body)
    {
        add_write_concern_error(&mut reply, error, body, None);
    }
    Outcome::Reply(reply)
}

fn add_write_concern_error(
    reply: &mut Document,
    error: Document,
    body: &Document,
    labels: Option<Vec<String>>,
) {
    let retryable = body.contains_key("txnNumber")
        && error
            .get_i32("code")
            .is_ok_and(|code| RETRYABLE_CODES.contains(&code));
    reply.insert("writeConcernError", error);
    let labels = labels.unwrap_or_else(|| {
        if retryable {
            vec!["RetryableWriteError".into()]
        } else {
            Vec::new()
        }
    });
    if !labels.is_empty() {
        reply.insert("errorLabels", labels);
    }
}

/// The checks before a command runs.
fn prepare(
    command: &Command,
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    client: &Client,
    key: &str,
    db: &str,
    body: &Document,
) -> Result<()> {
    generic::check_api_version(command, body)?;
    generic::check_fields(command, deployment, body)?;
    if command.admin_only && db != "admin" {
        return Err(Error::new(
            code::UNAUTHORIZED,
            format!("{} may only be run against the admin database.", command.name),
        ));
    }
    generic::check_transaction(body)?;
    generic::check_concerns(command, deployment, body)?;
    if let Some(Bson::Document(time)) = body.get("$clusterTime")
        && let Some(Bson::Timestamp(time)) = time.get("clusterTime")
    {
        deployment.gossip(*time);
    }
    let call = Call {
        deployment,
        member,
        client,
        name: command.name,
        key,
        db,
        body,
    };
    match command.access {
        Access::Always => Ok(()),
        Access::Write if call.is_writable() => Ok(()),
        Access::Write => Err(Error::new(code::NOT_WRITABLE_PRIMARY, "not primary")),
        Access::Read if call.is_writable() || generic::may_read_secondary(body) => Ok(()),
        Access::Read => Err(Error::new(
            code::NOT_PRIMARY_NO_SECONDARY_OK,
            "not primary and secondaryOk=false",
        )),
    }
}

/// Completes a reply: `ok`, the error's labels, the topology version of state changes, the cluster time.
fn finish(
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    body: &Document,
    result: Result<Document>,
) -> Document {
    let mut reply = match result {
        Ok(mut reply) => {
            if !reply.contains_key("ok") {
                reply.insert("ok", 1.0);
            }
            reply
        }
        Err(mut error) => {
            if error.labels.is_none()
                && body.contains_key("txnNumber")
                && RETRYABLE_CODES.contains(&error.code)
                && deployment.is_replicated()
            {
                error.labels = Some(vec!["RetryableWriteError".to_owned()]);
            }
            let mut reply = error.to_reply();
            if !deployment.version.at_least(8, 0)
                && matches!(error.code, code::MISSING_FIELD | code::UNKNOWN_FIELD)
            {
                reply.insert("codeName", format!("Location{}", error.code));
            }
            if matches!(error.code, 91 | 189 | 10107 | 11600 | 11602 | 13435 | 13436)
                && deployment.version.at_least(4, 4)
            {
                reply.insert("topologyVersion", hello::topology_version(deployment, member));
            }
            reply
        }
    };
    if deployment.is_replicated() {
        deployment.add_cluster_time(&mut reply);
    }
    reply
}
