//! A table of the faults of each target, and of the operations that succeeded after them.

use std::{collections::BTreeMap, fmt};

use super::kinds::{Kind, Target};

/// The faults in the order in which they were performed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    happened: Vec<(Target, Kind)>,
    /// The number of faults, from the first, that were followed by the start of an operation that
    /// succeeded.
    recovered: usize,
}

impl Table {
    pub(crate) fn add(&mut self, target: Target, kind: Kind) {
        self.happened.push((target, kind));
    }

    /// The number of faults so far.
    pub(crate) fn performed(&self) -> usize {
        self.happened.len()
    }

    /// Records that an operation succeeded that began after this many faults.
    pub(crate) fn succeeded_after(&mut self, faults: usize) {
        self.recovered = self.recovered.max(faults);
    }

    pub(crate) fn recovered(&self) -> usize {
        self.recovered
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
            let (performed, recovered, targets) = by_kind.entry(*kind).or_default();
            *performed += 1;
            *recovered += usize::from(index < self.recovered);
            *targets.entry(*target).or_default() += 1;
        }
        writeln!(f, "{:<14} {:>5} {:>8}", "kind", "performed", "recovered")?;
        for (kind, (performed, recovered, targets)) in &by_kind {
            writeln!(
                f,
                "{:<14} {performed:>5} {recovered:>8}  {targets:?}",
                format!("{kind:?}")
            )?;
        }
        write!(f, "{:<14} {:>5} {:>8}", "all", self.performed(), self.recovered)
    }
}
