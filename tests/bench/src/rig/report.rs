//! The results of a comparison, as written to its JSON file.

use serde::Serialize;

use super::{
    clients::{BenchClient, Role},
    goals::Goal,
    statistics::Spread,
};

/// Entries are in the order of the clients; `None` for a client that does not support the task.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) clients: Vec<Column>,
    /// The conditions of the measurement, one sentence each.
    pub(super) notes: Vec<String>,
    pub(super) times: Vec<Times>,
    pub(super) counts: Vec<Counted>,
    pub(super) futures: Vec<Futures>,
    /// Whether the build cost is within its limits, if it was measured.
    pub(super) build_is_cheap: Option<bool>,
    pub(super) goals: Vec<Goal>,
}

/// A client and its name in tables.
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
    /// Whether the chart and the summary contain the row.
    pub(super) charted: bool,
    pub(super) entries: Vec<Option<Timing>>,
}

/// The times of a client.
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

/// The counts of a client, per operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Count {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

/// The sizes of the futures of a client.
#[derive(Debug, Serialize)]
pub(super) struct Futures {
    pub(super) role: Role,
    pub(super) title: String,
    pub(super) sizes: Vec<Size>,
}

/// The size of a future in bytes, see `marula_bench_shared::contract`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub(super) struct Size {
    pub(super) call: String,
    pub(super) held: u64,
    pub(super) boxed: Option<u64>,
}

impl From<&BenchClient> for Column {
    fn from(client: &BenchClient) -> Self {
        Self {
            role: client.role,
            title: client.title(),
        }
    }
}

impl Report {
    /// The index of a client in the entries.
    pub(super) fn index(&self, role: Role) -> Option<usize> {
        self.clients.iter().position(|column| column.role == role)
    }

    /// The entry of a client.
    pub(super) fn entry<T: Copy>(&self, entries: &[Option<T>], role: Role) -> Option<T> {
        entries.get(self.index(role)?).copied().flatten()
    }
}

#[cfg(test)]
pub(super) mod samples {
    //! A report for tests.

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

    /// One row of times and one of counts, for all clients but libmongoc.
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
            clients: [
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
