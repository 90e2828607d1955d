//! The simulated replica set: the state of its members, and the executed writes.

use std::{collections::BTreeMap, io};

use marula_driver::{
    Error, NetworkPhase, ServerAddress,
    bson::{ObjectId, RawDocument, doc, to_raw_document},
    internals::{
        command::Reply,
        description::{HelloReply, TopologyVersion},
        network_error,
    },
};

use crate::simulation::Random;

/// A member of the replica set.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) address: ServerAddress,
    pub(crate) up: bool,
    /// Whether the client can reach the member.
    pub(crate) reachable: bool,
    pub(crate) overloaded: bool,
    /// Identifies the server process; changes with each start.
    pub(crate) process: u64,
    counter: i64,
    /// The term in which it was elected, if it is primary in its own view.
    term: Option<u64>,
}

/// The replica set.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) members: Vec<Member>,
    term: u64,
    /// How many times each write was executed.
    pub(crate) written: BTreeMap<u64, u32>,
}

fn id(number: u64) -> ObjectId {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

/// A command error as the driver parses it.
fn command_error(code: i32, version: TopologyVersion) -> Error {
    let body = doc! {
        "ok": 0, "code": code, "errmsg": "failed",
        "topologyVersion": { "processId": version.process_id, "counter": version.counter },
    };
    let body = to_raw_document(&body).expect("a document");
    let bytes: &RawDocument = &body;
    let error = Reply::scan(bytes.as_bytes()).expect("a reply").command_error();
    error.expect("an error")
}

impl Cluster {
    pub(crate) fn new(size: usize) -> Self {
        let members = (0..size).map(|index| Member {
            address: ServerAddress::tcp(&format!("m{index}"), 27017),
            up: true,
            reachable: true,
            overloaded: false,
            process: index as u64 + 1,
            counter: 1,
            term: None,
        });
        let mut cluster = Self {
            members: members.collect(),
            term: 0,
            written: BTreeMap::new(),
        };
        cluster.elect(0);
        cluster
    }

    pub(crate) fn index(&self, address: &ServerAddress) -> usize {
        let found = self.members.iter().position(|member| member.address == *address);
        found.expect("a member")
    }

    /// Makes another member the primary. The previous primary may not have stepped down yet.
    pub(crate) fn elect(&mut self, index: usize) {
        if let Some(member) = self.members.get_mut(index)
            && member.up
            && member.term != Some(self.term.max(1))
        {
            self.term += 1;
            member.term = Some(self.term);
            member.counter += 1;
        }
    }

    /// The primary of the current term.
    pub(crate) fn primary(&self) -> Option<&Member> {
        self.members
            .iter()
            .find(|member| member.up && member.term == Some(self.term))
    }

    pub(crate) fn stop(&mut self, index: usize) {
        let member = &mut self.members[index];
        (member.up, member.term) = (false, None);
    }

    pub(crate) fn start(&mut self, index: usize) {
        let process = self
            .members
            .iter()
            .map(|member| member.process)
            .max()
            .unwrap_or(0)
            + 1;
        let member = &mut self.members[index];
        if !member.up {
            (member.up, member.process, member.counter) = (true, process, 1);
        }
    }

    /// Ends all faults.
    pub(crate) fn heal(&mut self) {
        for index in 0..self.members.len() {
            self.start(index);
            let current = self.term;
            let member = &mut self.members[index];
            (member.reachable, member.overloaded) = (true, false);
            if member.term.is_some_and(|term| term != current) {
                member.term = None;
                member.counter += 1;
            }
        }
        if self.primary().is_none() {
            self.elect(0);
        }
    }

    fn version(&self, index: usize) -> TopologyVersion {
        TopologyVersion {
            process_id: id(self.members[index].process),
            counter: self.members[index].counter,
        }
    }

    pub(crate) fn hello(&self, index: usize) -> HelloReply {
        let member = &self.members[index];
        HelloReply {
            set_name: Some("rs".to_owned()),
            set_version: Some(1),
            is_writable_primary: member.term.is_some(),
            secondary: member.term.is_none(),
            election_id: member.term.map(id),
            hosts: self
                .members
                .iter()
                .map(|member| member.address.to_string())
                .collect(),
            me: Some(member.address.to_string()),
            max_wire_version: 25,
            logical_session_timeout_minutes: Some(30),
            topology_version: Some(self.version(index)),
            ..HelloReply::default()
        }
    }

    /// Executes a command. A write has a number, so that a retry is not executed again.
    pub(crate) fn run(&mut self, index: usize, write: Option<u64>, random: &mut Random) -> Result<(), Error> {
        let Some(number) = write else {
            return Ok(());
        };
        let current = self.term;
        let member = &mut self.members[index];
        match member.term {
            None => return Err(command_error(10107, self.version(index))),
            Some(term) if term != current => {
                // It steps down when it cannot replicate in its term.
                member.term = None;
                member.counter += 1;
                return Err(command_error(189, self.version(index)));
            }
            Some(_) => {}
        }
        *self.written.entry(number).or_default() = 1;
        if random.percent(4) {
            // The reply is lost.
            return Err(network_error(
                NetworkPhase::Read,
                io::ErrorKind::ConnectionReset.into(),
            ));
        }
        Ok(())
    }
}
