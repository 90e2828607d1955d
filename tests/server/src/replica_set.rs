//! Who is primary: a pure state machine over the members of a set. Elections are immediate, since all members share
//! one storage and none can lag behind.

use bson::oid::ObjectId;

/// One member as the set sees it.
#[derive(Debug, Clone)]
pub(crate) struct MemberState {
    pub(crate) running: bool,
    pub(crate) process_id: ObjectId,
    /// The counter of the member's topologyVersion.
    pub(crate) counter: i64,
    /// Not to be elected (after `replSetFreeze`).
    pub(crate) frozen: bool,
    /// What it still holds to be true while it is cut off from the others.
    belief: Option<Belief>,
}

/// Who was primary, and of which term, when a member was cut off.
#[derive(Debug, Clone, Copy)]
struct Belief {
    primary: Option<usize>,
    term: i64,
}

impl MemberState {
    /// It runs, and the others reach it.
    fn is_connected(&self) -> bool {
        self.running && self.belief.is_none()
    }
}

/// The members, and the primary.
#[derive(Debug, Clone)]
pub(crate) struct Topology {
    pub(crate) members: Vec<MemberState>,
    pub(crate) primary: Option<usize>,
    pub(crate) term: i64,
    pub(crate) set_version: i32,
}

impl Topology {
    /// All members running, the first one primary.
    pub(crate) fn new(count: usize, replica_set: bool) -> Topology {
        let member = || MemberState {
            running: true,
            process_id: ObjectId::new(),
            counter: if replica_set { 6 } else { 0 },
            frozen: false,
            belief: None,
        };
        Topology {
            members: (0..count).map(|_| member()).collect(),
            primary: Some(0),
            term: 1,
            set_version: 1,
        }
    }

    /// The election id of the current term.
    pub(crate) fn election_id(&self) -> ObjectId {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
        bytes[4..].copy_from_slice(&self.term.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    /// The primary steps down and the next member that can takes over. `false`, and no change, if there is none.
    pub(crate) fn step_down(&mut self) -> bool {
        let Some(old) = self.primary else { return false };
        let Some(new) = self.electable(Some(old)) else {
            return false;
        };
        self.elect(new);
        true
    }

    /// The primary steps down whether or not somebody can take over.
    pub(crate) fn step_down_forced(&mut self) {
        if !self.step_down() {
            self.primary = None;
            self.bump();
        }
    }

    /// A member stops; if it was primary and a majority still runs, another is elected.
    pub(crate) fn stop(&mut self, index: usize) {
        let Some(member) = self.members.get_mut(index).filter(|member| member.running) else {
            return;
        };
        member.running = false;
        self.go_on_without(index);
    }

    /// A member is cut off from the others, and goes on believing what it believed; if it was primary and a majority is
    /// left, another is elected.
    pub(crate) fn isolate(&mut self, index: usize) {
        let belief = Belief {
            primary: self.primary,
            term: self.term,
        };
        let Some(member) = self.members.get_mut(index).filter(|member| member.is_connected()) else {
            return;
        };
        member.belief = Some(belief);
        self.go_on_without(index);
    }

    /// A member that was cut off is reached again, and learns what has happened.
    pub(crate) fn rejoin(&mut self, index: usize) {
        let Some(member) = self
            .members
            .get_mut(index)
            .filter(|member| member.belief.is_some())
        else {
            return;
        };
        member.belief = None;
        self.go_on_with_more();
    }

    /// What a member knows of the set.
    pub(crate) fn seen_by(&self, index: usize) -> Topology {
        let mut seen = self.clone();
        if let Some(belief) = self.members.get(index).and_then(|member| member.belief) {
            seen.primary = belief.primary;
            seen.term = belief.term;
        }
        seen
    }

    fn go_on_without(&mut self, index: usize) {
        if !self.has_majority() {
            self.primary = None;
        } else if self.primary == Some(index) {
            match self.electable(Some(index)) {
                Some(new) => return self.elect(new),
                None => self.primary = None,
            }
        }
        self.bump();
    }

    fn go_on_with_more(&mut self) {
        if self.primary.is_none()
            && self.has_majority()
            && let Some(new) = self.electable(None)
        {
            return self.elect(new);
        }
        self.bump();
    }

    fn has_majority(&self) -> bool {
        let connected = self.members.iter().filter(|member| member.is_connected());
        connected.count() * 2 > self.members.len()
    }

    /// A member starts again, as a new process and a secondary.
    pub(crate) fn restart(&mut self, index: usize) {
        let Some(member) = self.members.get_mut(index).filter(|member| !member.running) else {
            return;
        };
        member.running = true;
        member.frozen = false;
        member.process_id = ObjectId::new();
        member.counter = 0;
        member.belief = None;
        self.go_on_with_more();
    }

    /// Allows or forbids that a member is elected.
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
        self.bump();
    }

    fn bump(&mut self) {
        // Who is cut off has no news.
        for member in self.members.iter_mut().filter(|member| member.belief.is_none()) {
            member.counter += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_down_elects_the_next_with_a_higher_election_id() {
        let mut topology = Topology::new(3, true);
        let (old_id, old_counter) = (topology.election_id(), topology.members[0].counter);
        assert!(topology.step_down());
        assert_eq!(topology.primary, Some(1));
        assert!(topology.election_id() > old_id);
        assert!(topology.members[0].counter > old_counter);
    }

    #[test]
    fn no_majority_no_primary() {
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
        assert!(!topology.step_down(), "nobody can take over");
        topology.step_down_forced();
        assert_eq!(topology.primary, None);
        topology.freeze(0, false);
        assert_eq!(topology.primary, Some(0));
    }

    #[test]
    fn who_is_cut_off_believes_what_it_believed() {
        let mut topology = Topology::new(3, true);
        let (old_term, old_counter) = (topology.term, topology.members[0].counter);
        topology.isolate(0);
        assert_eq!((topology.primary, topology.term), (Some(1), old_term + 1));
        let seen = topology.seen_by(0);
        assert_eq!((seen.primary, seen.term), (Some(0), old_term));
        assert_eq!(topology.members[0].counter, old_counter);
        assert_eq!(topology.seen_by(2).primary, Some(1));
        topology.isolate(2);
        assert_eq!(topology.primary, None, "nobody has a majority");
        assert_eq!(topology.seen_by(2).primary, Some(1));
        topology.rejoin(0);
        assert!(topology.primary.is_some());
        assert_eq!(topology.seen_by(0).primary, topology.primary);
        assert!(topology.members[0].counter > old_counter);
    }

    #[test]
    fn a_restarted_member_is_a_new_process() {
        let mut topology = Topology::new(3, true);
        let old = topology.members[2].process_id;
        topology.stop(2);
        topology.restart(2);
        assert_ne!(topology.members[2].process_id, old);
    }
}
