//! Execution of a request: fail points, command lookup, the checks shared by all commands, and the
//! reply.

use super::waiting::{self, Ran};
use super::{
    Call, api_version, client_metadata, concerns, generic, hello, labels, older_versions, read_preference,
    sasl, structured_encryption, table, transactional_write,
};
use crate::auth::privileges::Request;
use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::fail_point::TopologyVersion;
use crate::features;
use crate::index_build::OpenBuild;
use crate::member::Member;
use crate::session_info::Owner;
use crate::storage::{Catalog, Namespace};
use crate::transaction;
use crate::violation::{ViolationKind, literal};
use crate::wire::connection::Client;
use bson::{Bson, Document, doc};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use table::{Access, Command};

/// The code of a number out of the range of its option, before 7.2.
const OUT_OF_RANGE: i32 = 51_024;

/// The result of a command for its connection: a reply, or closing it without one.
#[derive(Debug)]
pub(crate) enum Outcome {
    Reply(Document),
    Close,
}

/// Runs a command. While it is blocked it is listed in the operations of the process and can be
/// killed.
pub(crate) async fn dispatch(
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    client: &mut Client,
    body: &Document,
) -> Outcome {
    let started = SystemTime::now();
    let connection = client.id;
    let outcome = {
        let mut running = std::pin::pin!(run_command(deployment, member, client, body));
        tokio::select! {
            biased;
            outcome = &mut running => outcome,
            () = std::future::ready(()) => {
                let listed = member.operations.list(connection, body, started);
                tokio::select! {
                    outcome = &mut running => outcome,
                    () = listed.killed() => {
                        let error = Error::new(code::INTERRUPTED, "operation was interrupted");
                        Outcome::Reply(finish(deployment, member, body, Err(error)))
                    }
                }
            }
        }
    };
    if body.keys().next().is_some_and(|key| sasl::changes_identity(key)) {
        let user = lock(&client.session).user.clone();
        member
            .operations
            .identified(connection, client.app_name.as_ref(), user);
    }
    outcome
}

/// Runs a command, without listing it.
async fn run_command(
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    client: &mut Client,
    body: &Document,
) -> Outcome {
    let key = body.keys().next().map_or("", String::as_str);
    // Before the command is counted, so that a test that waits for the command finds its session in
    // use.
    let _session_use = deployment.violations.enter(body, client.id);
    deployment.events.command_seen(key);
    crate::record::note(body);
    if hello::is_hello(key) {
        hello::store_client(deployment, client, body);
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
        if let Some(mut error) = effect.error() {
            if error.labels.is_none() && key == "getMore" && !effect.in_cursor {
                error.labels = labels::without_cursor(deployment, body, error.code);
            }
            // State change errors of a fail point do not change the topology version.
            let mut reply = finish(deployment, member, body, Err(error));
            match &effect.topology_version {
                TopologyVersion::Absent => {
                    reply.remove("topologyVersion");
                }
                TopologyVersion::Current => {}
                TopologyVersion::Given(version) => {
                    reply.insert("topologyVersion", version.clone());
                }
            }
            let base = deployment.parameters().get_i32("externalClientBaseBackoffMS");
            let overloaded = |labels: &Vec<Bson>| labels.contains(&Bson::from("SystemOverloadedError"));
            if let Ok(base) = base
                && base > 0
                && reply.get_array("errorLabels").is_ok_and(overloaded)
            {
                reply.insert("baseBackoffMS", base);
            }
            return Outcome::Reply(reply);
        }
    }
    let command = table::find(key, deployment);
    let result = match command {
        None if features::is_command(key, deployment.is_mongos(), deployment.version) => {
            sasl::check_user(deployment, client, key)
                .and(Err(Error::not_served(format!("the command {key}"))))
        }
        None => Err(Error::new(
            code::COMMAND_NOT_FOUND,
            format!("no such command: '{key}'"),
        )),
        Some(command) => match prepare(command, deployment, member, client, key, db, body) {
            Err(error) => Err(error),
            Ok(()) if hello::is_hello(command.name) => {
                let answered = hello::run(deployment, member, client, body, key).await;
                client.handshake_complete |= answered.is_ok();
                answered
            }
            Ok(()) => {
                let target = Target {
                    command,
                    deployment,
                    member,
                    client,
                };
                let failure = if command.retryable_write {
                    transactional_write::plan(deployment, member, body)
                } else {
                    None
                };
                let run = async |body: &Document| {
                    if let Some(build) = target.begin_index_build(key, db, body) {
                        waiting::in_time(body, build.wait()).await?;
                    }
                    waiting::run(body, |body| target.run(key, db, body), deployment, member).await
                };
                match failure {
                    None => run(body).await,
                    Some(failure) => {
                        let result = match &failure.body {
                            Some(body) => run(body).await,
                            None => Ok(Document::new()),
                        };
                        match failure.point.before_commit {
                            _ if failure.point.close => return Outcome::Close,
                            Some(code) => Err(Error::new(
                                code,
                                "Failing write via 'onPrimaryTransactionalWrite' failpoint",
                            )),
                            None => result,
                        }
                    }
                }
            }
        },
    };
    record_violations(deployment, client, command, body, &result);
    let ran = result.is_ok();
    let writes = command.is_some_and(|command| concerns::supports_write_concern(command, body))
        && (!body.contains_key("autocommit") || labels::ends_transaction(body));
    let mut reply = finish(deployment, member, body, result);
    if ran
        && let Some(error) = effect
            .as_ref()
            .and_then(|effect| effect.write_concern_error.clone())
    {
        let given = effect.and_then(|effect| effect.labels);
        labels::add_write_concern_error(deployment, &mut reply, error, body, given);
    } else if ran
        && writes
        && let Some(error) = concerns::unsatisfied_write_concern(deployment, body)
    {
        labels::add_write_concern_error(deployment, &mut reply, error, body, None);
    }
    Outcome::Reply(reply)
}

/// Records a protocol violation, whether the server has rejected or accepted the command.
fn record_violations(
    deployment: &Deployment,
    client: &Client,
    command: Option<&Command>,
    body: &Document,
    result: &Result<Document>,
) {
    let record = |kind: ViolationKind, detail: &str| {
        deployment
            .violations
            .record_command(kind, body, client.id, detail);
    };
    if let Err(error) = result
        && let Some(kind) = error.violation
    {
        record(kind, &error.message);
        return;
    }
    let Some(command) = command else { return };
    if let Some(detail) = concerns::misplaced_read_concern(command, body) {
        record(ViolationKind::ReadConcern, detail);
    }
    if let Some(detail) = literal::stored_modifier(command.name, body) {
        record(ViolationKind::LiteralModifier, &detail);
    }
    if hello::is_hello(command.name) && client_metadata::is_too_long_for_drivers(body) {
        record(
            ViolationKind::ClientMetadata,
            "the client metadata document has more than 512 bytes",
        );
    }
}

/// A command, and the connection and process on which it runs.
struct Target<'t> {
    command: &'static Command,
    deployment: &'t Arc<Deployment>,
    member: &'t Arc<Member>,
    client: &'t Client,
}

impl Target<'_> {
    /// Runs the command on the catalog of its transaction, of a snapshot, or of the deployment.
    fn run(&self, key: &str, db: &str, body: &Document) -> Ran {
        if let Some(ran) = self.run_beside_transactions(key, db, body) {
            return ran;
        }
        Ran::Done(self.run_unblocked(key, db, body))
    }

    fn call(
        &self,
        key: &str,
        db: &str,
        body: &Document,
        isolated: Option<&Mutex<Catalog>>,
    ) -> Result<Document> {
        let call = Call {
            deployment: self.deployment,
            member: self.member,
            client: self.client,
            name: self.command.name,
            key,
            db,
            body,
            isolated,
        };
        let body = structured_encryption::without_payloads(&call)?;
        (self.command.run)(&Call { body: &body, ..call })
    }

    /// Begins the index build of a `createIndexes` command, if a test holds index builds and the
    /// command builds an index on a collection with documents.
    fn begin_index_build(&self, key: &str, db: &str, body: &Document) -> Option<OpenBuild<'_>> {
        let builds = &self.deployment.index_builds;
        if self.command.name != "createIndexes" || body.contains_key("autocommit") || !builds.are_held() {
            return None;
        }
        let namespace = Namespace::of_command(db, key, body).ok()?;
        let shared = self.deployment.catalog().clone();
        let before = shared.get(&namespace).filter(|collection| collection.len() > 0)?;
        let (id, count) = (before.uuid, before.indexes.len());
        let trial = Mutex::new(shared);
        let made = self.call(key, db, body, Some(&trial));
        let specs: Vec<Document> = match made {
            Ok(_) => {
                let catalog = lock(&trial);
                let indexes = &catalog.get(&namespace)?.indexes[count..];
                indexes.iter().map(|index| index.spec.clone()).collect()
            }
            // Duplicates are found at the end of the build.
            Err(error) if error.code == code::DUPLICATE_KEY => {
                let specs = body.get_array("indexes").into_iter().flatten();
                specs.filter_map(Bson::as_document).cloned().collect()
            }
            Err(_) => return None,
        };
        (!specs.is_empty()).then(|| builds.begin(&namespace, id, specs))
    }

    /// Runs a write outside of transactions while transactions are open, or returns
    /// [`Ran::Blocked`] if it conflicts with one of them. `None` if the command is not a write or
    /// no transaction is open.
    fn run_beside_transactions(&self, key: &str, db: &str, body: &Document) -> Option<Ran> {
        let deployment = self.deployment;
        let is_write = !body.contains_key("autocommit")
            && !labels::ends_transaction(body)
            && (self.command.access == Access::Write || concerns::supports_write_concern(self.command, body));
        if !is_write || deployment.sessions.open().is_empty() {
            return None;
        }
        let mut shared = deployment.catalog();
        // The conflicting changes are determined on a copy of the catalog, without recording the
        // statements in the session.
        let mut trial_body = body.clone();
        for field in ["lsid", "txnNumber"] {
            trial_body.remove(field);
        }
        let trial = Mutex::new(shared.clone());
        let _ = self.call(key, db, &trial_body, Some(&trial));
        let trial = trial.into_inner().unwrap_or_else(PoisonError::into_inner);
        if transaction::must_wait(&shared, &trial, &deployment.sessions.open()) {
            return Some(Ran::Blocked);
        }
        let changed = Mutex::new(shared.clone());
        let result = self.call(key, db, body, Some(&changed));
        *shared = changed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some(Ran::Done(result))
    }

    fn run_unblocked(&self, key: &str, db: &str, body: &Document) -> Result<Document> {
        let Target {
            deployment, member, ..
        } = *self;
        let run = |isolated: Option<&Mutex<Catalog>>| self.call(key, db, body, isolated);
        if body.contains_key("autocommit") && !labels::ends_transaction(body) {
            let transaction = deployment.sessions.enter(deployment, member.index, body)?;
            if let Ok(namespace) = Namespace::of_command(db, key, body) {
                transaction.uses(namespace);
            }
            let result = run(Some(&transaction.catalog));
            let mut result = deployment.sessions.leave(deployment, body, &transaction, result);
            if let Ok(reply) = &mut result
                && deployment.is_mongos()
            {
                reply.insert("recoveryToken", doc! { "recoveryShardId": "shard01" });
            }
            return result;
        }
        let Some(time) = concerns::snapshot_time(body) else {
            return run(None);
        };
        let (time, catalog) = match time {
            None => deployment.snapshot(),
            Some(time) => {
                let catalog = deployment.snapshot_at(time).ok_or_else(|| {
                    Error::new(
                        code::SNAPSHOT_UNAVAILABLE,
                        "Unable to read from a snapshot at the requested time: it is too old or in the future",
                    )
                })?;
                (time, catalog)
            }
        };
        let mut reply = run(Some(&catalog))?;
        match reply.get_mut("cursor") {
            Some(Bson::Document(cursor)) => cursor.insert("atClusterTime", time),
            _ => reply.insert("atClusterTime", time),
        };
        Ok(reply)
    }
}

/// The checks before a command is executed.
fn prepare(
    command: &Command,
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    client: &Client,
    key: &str,
    db: &str,
    body: &Document,
) -> Result<()> {
    if let Some(Bson::Document(time)) = body.get("$clusterTime")
        && let Some(Bson::Timestamp(time)) = time.get("clusterTime")
    {
        deployment.gossip(*time);
    }
    let request = Request {
        name: command.name,
        key,
        db,
        body,
    };
    sasl::authorize(deployment, client, request)?;
    api_version::check(command, deployment, body)?;
    generic::check_fields(command, deployment, body)?;
    older_versions::check_options(command, deployment.version, body)?;
    if command.admin_only && db != "admin" {
        return Err(Error::new(
            code::UNAUTHORIZED,
            format!("{} may only be run against the admin database.", command.name),
        ));
    }
    Owner::of(body)?;
    read_preference::check(body)?;
    generic::check_transaction(command, deployment, body)?;
    concerns::check_concerns(command, deployment, body)?;
    if hello::is_hello(command.name) {
        client_metadata::check(deployment, client, body)?;
    }
    let call = Call {
        deployment,
        member,
        client,
        name: command.name,
        key,
        db,
        body,
        isolated: None,
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

/// Completes a reply: `ok`, the error's labels, the topology version of state changes, the cluster
/// time.
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
            // The code of a value below the minimum of its option.
            if error.code == OUT_OF_RANGE && deployment.version.at_least(7, 2) {
                error.code = code::BAD_VALUE;
            }
            if error.labels.is_none() {
                error.labels = labels::of_error(deployment, member, body, error.code);
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
