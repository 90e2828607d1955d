//! What is measured: which tasks, how many at a time, on which runtime and deployment.

use marula_bench_shared::contract::{Runtime, Task};

use super::server::Topology;

/// A row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) topology: Topology,
    pub(super) task: Task,
    pub(super) tasks: u64,
    pub(super) runtime: Runtime,
    /// Whether the chart and the short table show it.
    pub(super) charted: bool,
}

const SMALL: [Task; 3] = [Task::Ping, Task::InsertOne, Task::FindOne];
const WIDE: [Task; 2] = [Task::InsertOne27k, Task::FindOneRawTweet];

/// How many tasks libmongoc's threads are measured with.
pub(super) const MANY: u64 = 32;
/// How many tasks the floor on tokio is measured with.
pub(super) const MOST: u64 = 64;

/// The tasks whose costs are counted on a deployment.
pub(super) fn counted(topology: Topology) -> Vec<Task> {
    let bulk = topology == Topology::Standalone;
    Task::ALL
        .into_iter()
        .filter(|task| bulk || !task.is_bulk())
        .collect()
}

/// The rows whose times are taken; quickly, those of the chart.
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
    let bulk: Vec<Task> = Task::ALL.into_iter().filter(|task| task.is_bulk()).collect();
    for topology in [Topology::Standalone, Topology::ThreeNode] {
        add(topology, &SMALL, one, topology == Topology::ThreeNode);
        add(topology, &SMALL, most, false);
    }
    add(Topology::Standalone, &SMALL, many, true);
    add(Topology::Standalone, &WIDE, one, false);
    add(Topology::Standalone, &WIDE, many, true);
    let find = [Task::FindOne];
    for circumstances in [one, most] {
        add(Topology::OneNode, &find, circumstances, false);
    }
    for circumstances in [
        (8, Runtime::Current),
        (MOST, Runtime::Current),
        (1, Runtime::Multi),
        (8, Runtime::Multi),
    ] {
        add(Topology::ThreeNode, &find, circumstances, false);
    }
    add(Topology::Standalone, &bulk, one, true);
    cells.retain(|cell| cell.charted || !quick);
    cells
}

impl Cell {
    /// As `--only` finds it and tables show it.
    pub(super) fn label(&self) -> String {
        format!(
            "{} {} {} {}",
            self.task,
            self.topology.name(),
            self.tasks,
            self.runtime.name()
        )
    }

    /// How many operations tell how long one takes, roughly.
    pub(super) fn first_ops(&self) -> u64 {
        if self.task.is_bulk() {
            1
        } else {
            50 * self.tasks.max(8)
        }
    }

    /// How many operations a run has at least, however long that takes.
    pub(super) fn least_ops(&self) -> u64 {
        if self.task.is_bulk() { 2 } else { 10 * self.tasks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_there_twice() {
        for quick in [true, false] {
            let mut labels: Vec<String> = cells(quick).iter().map(Cell::label).collect();
            let count = labels.len();
            labels.sort();
            labels.dedup();
            assert_eq!(labels.len(), count);
        }
    }

    #[test]
    fn one_operation_is_measured_at_every_width() {
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
    fn a_quick_look_has_the_rows_of_the_chart() {
        assert!(cells(true).iter().all(|cell| cell.charted));
        assert_eq!(cells(true).len(), 14);
    }
}
