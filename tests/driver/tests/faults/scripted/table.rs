//! A table of the faults of each target, and of the operations that succeeded after them.

use std::{collections::BTreeMap, fmt};

use super::kinds::{Kind, Target};

/// Faults in the order in which they happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    happened: Vec<(Target, Kind)>,
    /// This many of them, the first ones, were followed by an operation that began later and succeeded.
    survived: usize,
}

impl Table {
    pub(crate) fn add(&mut self, target: Target, kind: Kind) {
        self.happened.push((target, kind));
    }

    /// How many faults there were so far.
    pub(crate) fn tried(&self) -> usize {
        self.happened.len()
    }

    /// An operation succeeded that began after this many faults.
    pub(crate) fn worked_after(&mut self, faults: usize) {
        self.survived = self.survived.max(faults);
    }

    pub(crate) fn survived(&self) -> usize {
        self.survived
    }

    pub(crate) fn count(&self, target: Target, kind: Kind) -> usize {
        let same = |fault: &&(Target, Kind)| **fault == (target, kind);
        self.happened.iter().filter(same).count()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by_kind: BTreeMap<Kind, (usize, usize, BTreeMap<Target, usize>)> = BTreeMap::new();
        for (index, (target, kind)) in self.happened.iter().enumerate() {
            let (tried, survived, targets) = by_kind.entry(*kind).or_default();
            *tried += 1;
            *survived += usize::from(index < self.survived);
            *targets.entry(*target).or_default() += 1;
        }
        writeln!(f, "{:<14} {:>5} {:>8}", "kind", "tried", "survived")?;
        for (kind, (tried, survived, targets)) in &by_kind {
            writeln!(
                f,
                "{:<14} {tried:>5} {survived:>8}  {targets:?}",
                format!("{kind:?}")
            )?;
        }
        write!(f, "{:<14} {:>5} {:>8}", "all", self.tried(), self.survived)
    }
}
