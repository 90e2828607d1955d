//! Everything that a comparison found, as its JSON file has it.

use serde::Serialize;

use super::{
    contestants::{Contestant, Role},
    goals::Goal,
    statistics::Spread,
};

/// Entries stand in the order of the contestants; there is none where a contestant has no means for the task.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) contestants: Vec<Column>,
    /// Under which circumstances, one sentence each.
    pub(super) notes: Vec<String>,
    pub(super) times: Vec<Times>,
    pub(super) counts: Vec<Counted>,
    pub(super) futures: Vec<Futures>,
    /// Whether a program on our driver costs little enough to build, where that was asked for.
    pub(super) build_is_cheap: Option<bool>,
    pub(super) goals: Vec<Goal>,
}

/// A contestant, as tables call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    pub(super) role: Role,
    pub(super) title: String,
}

/// The times of a row.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    pub(super) task: &'static str,
    pub(super) topology: &'static str,
    pub(super) tasks: u64,
    pub(super) runtime: &'static str,
    /// Whether the chart and the short table show it.
    pub(super) charted: bool,
    pub(super) entries: Vec<Option<Timing>>,
}

/// The times of a contestant.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Timing {
    pub(super) ops_per_second: Spread,
    /// User and system time of the client per operation.
    pub(super) cpu_us: Spread,
    pub(super) peak_kib: Spread,
}

/// The counts of a row.
#[derive(Debug, Serialize)]
pub(super) struct Counted {
    pub(super) task: &'static str,
    pub(super) topology: &'static str,
    pub(super) entries: Vec<Option<Count>>,
}

/// The counts of a contestant, per operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Count {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

/// The sizes of a program's futures.
#[derive(Debug, Serialize)]
pub(super) struct Futures {
    pub(super) role: Role,
    pub(super) title: String,
    pub(super) sizes: Vec<Size>,
}

/// The size of a future, in bytes; see the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub(super) struct Size {
    pub(super) call: String,
    pub(super) held: u64,
    pub(super) boxed: Option<u64>,
}

impl From<&Contestant> for Column {
    fn from(contestant: &Contestant) -> Self {
        Self {
            role: contestant.role,
            title: contestant.title(),
        }
    }
}

impl Report {
    /// The place of a contestant among the entries.
    pub(super) fn place(&self, role: Role) -> Option<usize> {
        self.contestants.iter().position(|column| column.role == role)
    }

    /// What a contestant's entry is.
    pub(super) fn entry<T: Copy>(&self, entries: &[Option<T>], role: Role) -> Option<T> {
        entries.get(self.place(role)?).copied().flatten()
    }
}

#[cfg(test)]
pub(super) mod samples {
    //! A report for the tests of what shows it.

    use super::*;

    pub(in super::super) fn timing(cpu_us: f64, ops_per_second: f64) -> Timing {
        let spread = |median: f64| Spread {
            median,
            min: median / 2.0,
            max: median * 2.0,
        };
        Timing {
            ops_per_second: spread(ops_per_second),
            cpu_us: spread(cpu_us),
            peak_kib: spread(2_048.0),
        }
    }

    /// One row of times, one of counts: blocking, floor, ours, official; libmongoc has no means for it.
    pub(in super::super) fn report() -> Report {
        let titled = |(role, title): (Role, &str)| Column {
            role,
            title: title.to_owned(),
        };
        let count = |instructions| {
            Some(Count {
                instructions,
                allocations: 4.0,
                bytes: 512.0,
            })
        };
        Report {
            contestants: [
                (Role::Blocking, "blocking"),
                (Role::Floor, "floor"),
                (Role::Marula, "marula"),
                (Role::Official, "official 3"),
                (Role::Libmongoc, "a<b"),
            ]
            .map(titled)
            .into(),
            notes: vec!["A note.".into()],
            times: vec![Times {
                task: "ping",
                topology: "standalone",
                tasks: 32,
                runtime: "multi",
                charted: true,
                entries: vec![
                    Some(timing(8.0, 200.0)),
                    Some(timing(10.0, 160.0)),
                    Some(timing(20.0, 80.0)),
                    Some(timing(40.0, 40.0)),
                    None,
                ],
            }],
            counts: vec![Counted {
                task: "ping",
                topology: "standalone",
                entries: vec![
                    count(900.0),
                    count(2_000.0),
                    count(11_000.0),
                    count(62_000.0),
                    None,
                ],
            }],
            ..Report::default()
        }
    }
}
