//! What is measured: which tasks, how many at a time, on which runtime and deployment.

use marula_bench_contract::{Runtime, Task};

use super::server::Topology;

/// A row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) topology: Topology,
    pub(super) task: Task,
    pub(super) tasks: u64,
    pub(super) runtime: Runtime,
}

const SMALL: [Task; 3] = [Task::Ping, Task::InsertOne, Task::FindOne];
const WIDE: [Task; 2] = [Task::InsertOne27k, Task::FindOneRawTweet];

/// The tasks whose costs are counted on a deployment.
pub(super) fn counted(topology: Topology) -> Vec<Task> {
    let bulk = topology == Topology::Standalone;
    Task::ALL
        .into_iter()
        .filter(|task| bulk || !task.is_bulk())
        .collect()
}

/// The rows whose times are taken.
pub(super) fn cells(quick: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |topology, tasks: &[Task], at_a_time: &[(u64, Runtime)]| {
        for &task in tasks {
            cells.extend(at_a_time.iter().map(|&(tasks, runtime)| Cell {
                topology,
                task,
                tasks,
                runtime,
            }));
        }
    };
    let ends = [(1, Runtime::Current), (64, Runtime::Multi)];
    let all = [1, 8, 64].map(|tasks| [(tasks, Runtime::Current), (tasks, Runtime::Multi)]);
    add(Topology::Standalone, &SMALL, &ends);
    if quick {
        add(Topology::ThreeNode, &SMALL, &ends);
    } else {
        add(Topology::OneNode, &SMALL, &ends);
        add(Topology::ThreeNode, &SMALL, all.as_flattened());
    }
    add(Topology::ThreeNode, &WIDE, &ends);
    let bulk: Vec<Task> = Task::ALL.into_iter().filter(|task| task.is_bulk()).collect();
    add(Topology::Standalone, &bulk, &ends[..1]);
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

    /// How many operations a run does, for some tenths of a second.
    pub(super) fn ops(&self, quick: bool) -> u64 {
        let full = match self.task {
            Task::Find10kTweetsDocument => 6,
            task if task.is_bulk() => 40,
            Task::InsertOne27k => 6_000,
            _ if self.tasks == 1 => 12_000,
            _ => 32_000,
        };
        if quick { (full / 3).max(3) } else { full }
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
    fn small_operations_are_measured_at_every_width() {
        let cells = cells(false);
        for runtime in [Runtime::Current, Runtime::Multi] {
            for tasks in [1, 8, 64] {
                let wanted = Cell {
                    topology: Topology::ThreeNode,
                    task: Task::FindOne,
                    tasks,
                    runtime,
                };
                assert!(cells.contains(&wanted), "{}", wanted.label());
            }
        }
    }
}
