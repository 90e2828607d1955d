//! The state of a replica set: which members run, which one is primary, and the term. A state
//! machine without I/O. Elections take effect immediately, because the members share one storage
//! and none can lag.

use bson::oid::ObjectId;

/// The state of one member.
#[derive(Debug, Clone)]
pub(crate) struct MemberState {
    pub(crate) running: bool,
    pub(crate) process_id: ObjectId,
    /// `topologyVersion.counter` of the member.
    pub(crate) counter: i64,
    /// Not electable, after `replSetFreeze`.
    pub(crate) frozen: bool,
    /// The state last known to the member while it is isolated from the others.
    last_known: Option<LastKnown>,
}

/// The primary and the term when a member was isolated.
#[derive(Debug, Clone, Copy)]
struct LastKnown {
    primary: Option<usize>,
    term: i64,
}

impl MemberState {
    /// Whether the member runs and is not isolated.
    fn is_connected(&self) -> bool {
        self.running && self.last_known.is_none()
    }
}

/// The members, the primary and the term of the set.
#[derive(Debug, Clone)]
pub(crate) struct Topology {
    pub(crate) members: Vec<MemberState>,
    pub(crate) primary: Option<usize>,
    pub(crate) term: i64,
    pub(crate) set_version: i32,
}

impl Topology {
    /// All members run, the first one is primary.
    pub(crate) fn new(count: usize, replica_set: bool) -> Topology {
        let member = || MemberState {
            running: true,
            process_id: ObjectId::new(),
            counter: if replica_set { 6 } else { 0 },
            frozen: false,
            last_known: None,
        };
        Topology {
            members: (0..count).map(|_| member()).collect(),
            primary: Some(0),
            term: 1,
            set_version: 1,
        }
    }

    /// The `electionId` of the current term.
    pub(crate) fn election_id(&self) -> ObjectId {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
        bytes[4..].copy_from_slice(&self.term.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    /// The primary steps down and the next electable member is elected. Returns `false`, without a
    /// change, if there is none.
    pub(crate) fn step_down(&mut self) -> bool {
        let Some(old) = self.primary else { return false };
        let Some(new) = self.electable(Some(old)) else {
            return false;
        };
        self.elect(new);
        true
    }

    /// The primary steps down even if no other member is electable.
    pub(crate) fn step_down_forced(&mut self) {
        if !self.step_down() {
            self.primary = None;
            self.increment_counters();
        }
    }

    /// Stops a member. If it was primary and a majority is connected, another member is elected.
    pub(crate) fn stop(&mut self, index: usize) {
        let Some(member) = self.members.get_mut(index).filter(|member| member.running) else {
            return;
        };
        member.running = false;
        self.member_lost(index);
    }

    /// Isolates a member from the others; it keeps its last known state. If it was primary and a
    /// majority is connected, another member is elected.
    pub(crate) fn isolate(&mut self, index: usize) {
        let last_known = LastKnown {
            primary: self.primary,
            term: self.term,
        };
        let Some(member) = self.members.get_mut(index).filter(|member| member.is_connected()) else {
            return;
        };
        member.last_known = Some(last_known);
        self.member_lost(index);
    }

    /// Reconnects an isolated member, which then knows the current state.
    pub(crate) fn rejoin(&mut self, index: usize) {
        let Some(member) = self
            .members
            .get_mut(index)
            .filter(|member| member.last_known.is_some())
        else {
            return;
        };
        member.last_known = None;
        self.member_gained();
    }

    /// The state as known to a member.
    pub(crate) fn known_to(&self, index: usize) -> Topology {
        let mut known = self.clone();
        if let Some(last_known) = self.members.get(index).and_then(|member| member.last_known) {
            known.primary = last_known.primary;
            known.term = last_known.term;
        }
        known
    }

    fn member_lost(&mut self, index: usize) {
        if !self.has_majority() {
            self.primary = None;
        } else if self.primary == Some(index) {
            match self.electable(Some(index)) {
                Some(new) => return self.elect(new),
                None => self.primary = None,
            }
        }
        self.increment_counters();
    }

    fn member_gained(&mut self) {
        if self.primary.is_none()
            && self.has_majority()
            && let Some(new) = self.electable(None)
        {
            return self.elect(new);
        }
        self.increment_counters();
    }

    fn has_majority(&self) -> bool {
        let connected = self.members.iter().filter(|member| member.is_connected());
        connected.count() * 2 > self.members.len()
    }

    /// Restarts a stopped member as a secondary with a new process id.
    pub(crate) fn restart(&mut self, index: usize) {
        let Some(member) = self.members.get_mut(index).filter(|member| !member.running) else {
            return;
        };
        member.running = true;
        member.frozen = false;
        member.process_id = ObjectId::new();
        member.counter = 0;
        member.last_known = None;
        self.member_gained();
    }

    /// Makes a member electable or not. Without a primary, a running member that becomes
    /// electable is elected.
    pub(crate) fn freeze(&mut self, index: usize, frozen: bool) {
        if let Some(member) = self.members.get_mut(index) {
            member.frozen = frozen;
        }
        if !frozen && self.primary.is_none() && self.members.get(index).is_some_and(|member| member.running) {
            self.elect(index);
        }
    }

    fn electable(&self, except: Option<usize>) -> Option<usize> {
        let count = self.members.len();
        let start = except.map_or(0, |index| index + 1);
        (start..start + count).map(|index| index % count).find(|index| {
            Some(*index) != except && self.members[*index].is_connected() && !self.members[*index].frozen
        })
    }

    fn elect(&mut self, index: usize) {
        self.primary = Some(index);
        self.term += 1;
        self.increment_counters();
    }

    fn increment_counters(&mut self) {
        // An isolated member does not receive the change.
        for member in self
            .members
            .iter_mut()
            .filter(|member| member.last_known.is_none())
        {
            member.counter += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_down_elects_the_next_member_with_a_higher_election_id() {
        let mut topology = Topology::new(3, true);
        let (old_id, old_counter) = (topology.election_id(), topology.members[0].counter);
        assert!(topology.step_down());
        assert_eq!(topology.primary, Some(1));
        assert!(topology.election_id() > old_id);
        assert!(topology.members[0].counter > old_counter);
    }

    #[test]
    fn primary_requires_a_majority() {
        let mut topology = Topology::new(3, true);
        topology.stop(0);
        assert_eq!(topology.primary, Some(1));
        topology.stop(2);
        assert_eq!(topology.primary, None);
        topology.restart(0);
        assert!(topology.primary.is_some());
    }

    #[test]
    fn frozen_members_are_not_elected() {
        let mut topology = Topology::new(3, true);
        topology.freeze(1, true);
        assert!(topology.step_down());
        assert_eq!(topology.primary, Some(2));
        topology.freeze(0, true);
        assert!(!topology.step_down(), "no other member is electable");
        topology.step_down_forced();
        assert_eq!(topology.primary, None);
        topology.freeze(0, false);
        assert_eq!(topology.primary, Some(0));
    }

    #[test]
    fn isolated_members_keep_their_last_known_state() {
        let mut topology = Topology::new(3, true);
        let (old_term, old_counter) = (topology.term, topology.members[0].counter);
        topology.isolate(0);
        assert_eq!((topology.primary, topology.term), (Some(1), old_term + 1));
        let known = topology.known_to(0);
        assert_eq!((known.primary, known.term), (Some(0), old_term));
        assert_eq!(topology.members[0].counter, old_counter);
        assert_eq!(topology.known_to(2).primary, Some(1));
        topology.isolate(2);
        assert_eq!(topology.primary, None, "no majority is connected");
        assert_eq!(topology.known_to(2).primary, Some(1));
        topology.rejoin(0);
        assert!(topology.primary.is_some());
        assert_eq!(topology.known_to(0).primary, topology.primary);
        assert!(topology.members[0].counter > old_counter);
    }

    #[test]
    fn a_restarted_member_has_a_new_process_id() {
        let mut topology = Topology::new(3, true);
        let old = topology.members[2].process_id;
        topology.stop(2);
        topology.restart(2);
        assert_ne!(topology.members[2].process_id, old);
    }
}
