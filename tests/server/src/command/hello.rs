//! `hello` and its legacy names: the handshake, and awaitable replies after topology changes.

use super::{Call, sasl};
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::member::Member;
use crate::value::number::Number;
use crate::wire::connection::Client;
use crate::wire::{MAX_MESSAGE_SIZE, compress};
use bson::{Bson, DateTime, Document, doc};
use std::sync::Arc;
use std::time::Duration;

/// Whether the command name is `hello` or a legacy name of it.
pub(crate) fn is_hello(name: &str) -> bool {
    matches!(name, "hello" | "isMaster" | "ismaster")
}

/// Not called: the command table requires a function, but `hello` is asynchronous and executed by
/// [`run`].
pub(crate) fn unreachable(_: &Call<'_>) -> Result<Document> {
    Err(Error::new(code::INTERNAL_ERROR, "hello is dispatched separately"))
}

/// Stores the application name, which fail points can match, and negotiates the compressors.
pub(crate) fn store_client(deployment: &Deployment, client: &mut Client, body: &Document) {
    if let Some(agreed) = compress::negotiate(&deployment.compressors, body) {
        client.compressors = agreed;
    }
    if let Some(Bson::Document(metadata)) = body.get("client")
        && let Some(Bson::Document(application)) = metadata.get("application")
        && let Ok(name) = application.get_str("name")
    {
        client.app_name = Some(name.to_owned());
    }
}

/// Replies immediately; for an awaitable `hello` after a topology change or `maxAwaitTimeMS`.
pub(crate) async fn run(
    deployment: &Arc<Deployment>,
    member: &Arc<Member>,
    client: &Client,
    body: &Document,
    key: &str,
) -> Result<Document> {
    if client.load_balanced
        && !body.get("loadBalanced").is_some_and(crate::value::truthy)
        && !client.handshake_complete
    {
        return Err(Error::new(
            code::LOAD_BALANCER_SUPPORT_MISMATCH,
            "The server is being accessed through a load balancer, but this driver does not have load balancing enabled",
        ));
    }
    match (body.get("topologyVersion"), body.get("maxAwaitTimeMS")) {
        (None, None) => {}
        (Some(Bson::Document(version)), Some(limit)) => {
            let limit = Number::from_bson(limit)
                .and_then(Number::to_exact_i64)
                .and_then(|limit| u64::try_from(limit).ok())
                .ok_or_else(|| Error::new(31373, "maxAwaitTimeMS must be a non-negative integer"))?;
            await_change(deployment, member, version, Duration::from_millis(limit)).await?;
        }
        (Some(Bson::Document(_)), None) => {
            return Err(Error::new(
                31368,
                "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'",
            ));
        }
        (None, Some(_)) => {
            return Err(Error::new(
                31368,
                "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'",
            ));
        }
        (Some(_), _) => {
            return Err(Error::type_mismatch(
                "BSON field 'hello.topologyVersion' must be an object",
            ));
        }
    }
    let mut reply = reply(deployment, member, client, body, key);
    if body.contains_key("compression") && !client.compressors.is_empty() {
        let names = client.compressors.iter().map(|compressor| compressor.name());
        reply.insert("compression", names.collect::<Vec<_>>());
    }
    sasl::answer_hello(deployment, client, body, &mut reply);
    Ok(reply)
}

async fn await_change(
    deployment: &Deployment,
    member: &Member,
    seen: &Document,
    limit: Duration,
) -> Result<()> {
    let (Ok(process), Ok(counter)) = (seen.get_object_id("processId"), seen.get_i64("counter")) else {
        return Err(Error::type_mismatch(
            "topologyVersion requires a processId and a counter",
        ));
    };
    // Subscribed before the check, so that no change is missed.
    let mut changes = deployment.topology_changes();
    let wait = async {
        loop {
            let (current_process, current) = current_version(deployment, member);
            if process != current_process || counter < current {
                return Ok(());
            }
            if counter > current {
                return Err(Error::new(
                    31382,
                    format!(
                        "Received a topology version with counter: {counter} which is greater than the server topology \
                         version counter: {current}"
                    ),
                ));
            }
            if changes.changed().await.is_err() {
                return Ok(());
            }
        }
    };
    tokio::time::timeout(limit, wait).await.unwrap_or(Ok(()))
}

fn current_version(deployment: &Deployment, member: &Member) -> (bson::oid::ObjectId, i64) {
    deployment.topology(|topology| {
        let state = &topology.members[member.index];
        (state.process_id, state.counter)
    })
}

/// The `topologyVersion` of the member.
pub(crate) fn topology_version(deployment: &Deployment, member: &Member) -> Document {
    let (process, counter) = current_version(deployment, member);
    doc! { "processId": process, "counter": counter }
}

fn reply(deployment: &Deployment, member: &Member, client: &Client, body: &Document, key: &str) -> Document {
    let primary_field = if key == "hello" {
        "isWritablePrimary"
    } else {
        "ismaster"
    };
    let topology = deployment.topology(|topology| topology.known_to(member.index));
    let primary = topology.primary == Some(member.index);
    let mut reply = Document::new();
    if key == "hello" || body.get("helloOk").is_some_and(crate::value::truthy) {
        reply.insert("helloOk", true);
    }
    if deployment.version.at_least(4, 4) {
        reply.insert("topologyVersion", topology_version(deployment, member));
    }
    if let Some(name) = &deployment.set_name {
        reply.extend(doc! {
            "hosts": deployment.hosts.clone(),
            "setName": name,
            "setVersion": topology.set_version,
            primary_field: primary,
            "secondary": !primary,
        });
        if let Some(index) = topology.primary {
            reply.insert("primary", &deployment.hosts[index]);
        }
        reply.insert("me", &deployment.hosts[member.index]);
        if primary {
            reply.insert("electionId", topology.election_id());
        }
        let time = deployment.operation_time();
        let date = DateTime::from_millis(i64::from(time.time) * 1000);
        let op_time = doc! { "ts": time, "t": topology.term };
        reply.insert(
            "lastWrite",
            doc! {
                "opTime": op_time.clone(), "lastWriteDate": date,
                "majorityOpTime": op_time, "majorityWriteDate": date,
            },
        );
    } else {
        reply.insert(primary_field, true);
        if deployment.is_mongos() {
            reply.insert("msg", "isdbgrid");
        }
    }
    if client.load_balanced && body.get("loadBalanced").is_some_and(crate::value::truthy) {
        reply.insert("serviceId", topology.members[member.index].process_id);
    }
    reply.extend(doc! {
        "maxBsonObjectSize": crate::storage::collection::MAX_DOCUMENT_SIZE as i32,
        "maxMessageSizeBytes": MAX_MESSAGE_SIZE as i32,
        "maxWriteBatchSize": super::insert::MAX_WRITE_BATCH as i32,
        "localTime": DateTime::now(),
        "logicalSessionTimeoutMinutes": 30,
        "connectionId": client.id,
        "minWireVersion": 0,
        "maxWireVersion": deployment.version.max_wire_version(),
        "readOnly": false,
    });
    reply
}
