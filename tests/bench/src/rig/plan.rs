//! The rows of the tables: tasks, concurrency, runtime and topology.

use marula_bench_shared::contract::{Runtime, Task};

use super::server::Topology;

/// A row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) topology: Topology,
    pub(super) task: Task,
    pub(super) tasks: u64,
    pub(super) runtime: Runtime,
    /// Whether the chart and the summary contain the row.
    pub(super) charted: bool,
}

const SMALL: [Task; 3] = [Task::Ping, Task::InsertOne, Task::FindOne];
const WIDE: [Task; 2] = [Task::InsertOne27k, Task::FindOneRawTweet];

/// Number of concurrent tasks for the comparison with blocking sockets.
pub(super) const MANY: u64 = 32;
/// Number of concurrent tasks for the comparison with the lower bound on tokio.
pub(super) const MOST: u64 = 64;

/// The tasks whose instructions and allocations can be counted on a topology.
pub(super) fn countable(topology: Topology) -> impl Iterator<Item = Task> {
    let set = topology != Topology::Standalone;
    Task::ALL.into_iter().filter(move |task| {
        let everywhere = !task.is_bulk() && !task.requires_set();
        everywhere || task.requires_set() == set
    })
}

/// The tasks whose counts are compared with those of other clients.
pub(super) fn counted(topology: Topology) -> Vec<Task> {
    countable(topology).filter(|task| !task.is_own()).collect()
}

/// The rows whose times are measured: with `quick` only those of the chart.
pub(super) fn cells(quick: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |topology, tasks: &[Task], (at_a_time, runtime), charted| {
        cells.extend(tasks.iter().map(|&task| Cell {
            topology,
            task,
            tasks: at_a_time,
            runtime,
            charted,
        }));
    };
    let (one, many, most) = (
        (1, Runtime::Current),
        (MANY, Runtime::Multi),
        (MOST, Runtime::Multi),
    );
    let bulk: Vec<Task> = Task::ALL
        .into_iter()
        .filter(|task| task.is_bulk() && !task.requires_set() && !task.is_own())
        .collect();
    for topology in [Topology::Standalone, Topology::ThreeNode] {
        add(topology, &SMALL, one, topology == Topology::ThreeNode);
        add(topology, &SMALL, most, false);
    }
    add(Topology::Standalone, &SMALL, many, true);
    add(Topology::Standalone, &WIDE, one, false);
    add(Topology::Standalone, &WIDE, many, true);
    let find = [Task::FindOne];
    for concurrency in [one, most] {
        add(Topology::OneNode, &find, concurrency, false);
    }
    for concurrency in [
        (8, Runtime::Current),
        (MOST, Runtime::Current),
        (1, Runtime::Multi),
        (8, Runtime::Multi),
    ] {
        add(Topology::ThreeNode, &find, concurrency, false);
    }
    add(Topology::Standalone, &bulk, one, true);
    add(Topology::ThreeNode, &[Task::TransactionTwoInserts], one, true);
    add(Topology::ThreeNode, &[Task::TransactionTwoInserts], many, false);
    add(Topology::ThreeNode, &[Task::ChangeStream10k], one, true);
    cells.retain(|cell| cell.charted || !quick);
    cells
}

impl Cell {
    /// The label, which `--only` matches.
    pub(super) fn label(&self) -> String {
        format!(
            "{} {} {} {}",
            self.task,
            self.topology.name(),
            self.tasks,
            self.runtime.name()
        )
    }

    /// Number of operations for a first estimate of their duration.
    pub(super) fn first_ops(&self) -> u64 {
        if self.task.is_bulk() {
            1
        } else {
            50 * self.tasks.max(8)
        }
    }

    /// Minimum number of operations of a run.
    pub(super) fn least_ops(&self) -> u64 {
        if self.task.is_bulk() { 2 } else { 10 * self.tasks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_distinct() {
        for quick in [true, false] {
            let mut labels: Vec<String> = cells(quick).iter().map(Cell::label).collect();
            let count = labels.len();
            labels.sort();
            labels.dedup();
            assert_eq!(labels.len(), count);
        }
    }

    #[test]
    fn find_one_is_measured_at_every_concurrency() {
        let cells = cells(false);
        for runtime in [Runtime::Current, Runtime::Multi] {
            for tasks in [1, 8, MOST] {
                let measured = cells.iter().any(|cell| {
                    (cell.topology, cell.task, cell.tasks, cell.runtime)
                        == (Topology::ThreeNode, Task::FindOne, tasks, runtime)
                });
                assert!(measured, "{tasks} {}", runtime.name());
            }
        }
    }

    #[test]
    fn quick_mode_measures_the_rows_of_the_chart() {
        assert!(cells(true).iter().all(|cell| cell.charted));
        assert_eq!(cells(true).len(), 16);
    }

    #[test]
    fn tasks_that_require_a_replica_set_are_measured_and_counted_on_one() {
        let standalone = |cell: &Cell| cell.topology == Topology::Standalone;
        assert!(
            !cells(false)
                .iter()
                .any(|cell| cell.task.requires_set() && standalone(cell))
        );
        let sets = counted(Topology::ThreeNode);
        assert!(sets.contains(&Task::TransactionTwoInserts) && sets.contains(&Task::ChangeStream10k));
        assert!(
            !counted(Topology::Standalone)
                .iter()
                .any(|task| task.requires_set())
        );
        assert!(!sets.contains(&Task::FindOneTimeout));
    }
}
