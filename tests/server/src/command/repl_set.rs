//! Commands of replica sets: `replSetGetStatus`, `replSetGetConfig`, `replSetStepDown`,
//! `replSetFreeze`.

use super::Call;
use crate::error::{Error, Result, code};
use bson::{Bson, DateTime, Document, doc};

fn require_set<'c>(call: &'c Call<'_>) -> Result<&'c str> {
    call.deployment
        .set_name
        .as_deref()
        .ok_or_else(|| Error::new(code::NO_REPLICATION_ENABLED, "not running with --replSet"))
}

pub(crate) fn status(call: &Call<'_>) -> Result<Document> {
    let name = require_set(call)?;
    let topology = call.deployment.topology(Clone::clone);
    let time = call.deployment.operation_time();
    let state = |index: usize| match (topology.members[index].running, topology.primary == Some(index)) {
        (false, _) => (8, "(not reachable/healthy)"),
        (true, true) => (1, "PRIMARY"),
        (true, false) => (2, "SECONDARY"),
    };
    let members: Vec<Bson> = call
        .deployment
        .hosts
        .iter()
        .enumerate()
        .map(|(index, address)| {
            let (number, text) = state(index);
            let mut member = doc! {
                "_id": index as i32,
                "name": address,
                "health": if topology.members[index].running { 1.0 } else { 0.0 },
                "state": number,
                "stateStr": text,
                "optime": { "ts": time, "t": topology.term },
                "configVersion": topology.set_version,
            };
            if index == call.member.index {
                member.insert("self", true);
            }
            Bson::Document(member)
        })
        .collect();
    Ok(doc! {
        "set": name,
        "date": DateTime::now(),
        "myState": state(call.member.index).0,
        "term": topology.term,
        "heartbeatIntervalMillis": 2000_i64,
        "majorityVoteCount": (topology.members.len() / 2 + 1) as i32,
        "votingMembersCount": topology.members.len() as i32,
        "members": members,
    })
}

pub(crate) fn config(call: &Call<'_>) -> Result<Document> {
    let name = require_set(call)?;
    let members: Vec<Bson> = call
        .deployment
        .hosts
        .iter()
        .enumerate()
        .map(|(index, address)| {
            Bson::Document(doc! {
                "_id": index as i32, "host": address, "arbiterOnly": false, "hidden": false,
                "priority": 1.0, "tags": {}, "votes": 1,
            })
        })
        .collect();
    let version = call.deployment.topology(|topology| topology.set_version);
    Ok(doc! { "config": { "_id": name, "version": version, "members": members } })
}

pub(crate) fn step_down(call: &Call<'_>) -> Result<Document> {
    require_set(call)?;
    let args = call.args();
    let seconds = args.integer(call.key)?.unwrap_or(60);
    let catch_up = args.integer("secondaryCatchUpPeriodSecs")?.unwrap_or(10);
    let force = args.flag("force", false)?;
    if seconds < 0 || catch_up < 0 {
        return Err(Error::bad_value("stepdown period must be a positive integer"));
    }
    if !call.is_writable() {
        return Err(Error::new(
            code::NOT_WRITABLE_PRIMARY,
            "not primary so can't step down",
        ));
    }
    let stepped_down = call.deployment.change_topology(|topology| {
        let done = topology.step_down();
        if !done && force {
            topology.step_down_forced();
        }
        done || force
    });
    if stepped_down {
        Ok(Document::new())
    } else {
        Err(Error::new(
            code::EXCEEDED_TIME_LIMIT,
            "No electable secondaries caught up, please use the replSetStepDown command with the argument {force: true}",
        ))
    }
}

pub(crate) fn freeze(call: &Call<'_>) -> Result<Document> {
    require_set(call)?;
    let seconds = call.args().integer(call.key)?.unwrap_or(0);
    if call.is_writable() {
        return Err(Error::new(
            code::NOT_SECONDARY,
            "cannot freeze node when primary or running for election",
        ));
    }
    call.deployment
        .change_topology(|topology| topology.freeze(call.member.index, seconds > 0));
    Ok(Document::new())
}
