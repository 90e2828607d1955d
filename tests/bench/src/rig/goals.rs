//! Performance goals, compared with the measurements.
//!
//! Times are compared with those of another client in the same run, because absolute times depend
//! on the machine.

use marula_bench_shared::contract::{Runtime, Task};
use serde::Serialize;

use super::{
    clients::Role,
    plan::{MANY, MOST},
    report::{Count, Report, Times, Timing},
    server::Topology,
};

/// A measurement and its goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Goal {
    pub(super) what: String,
    pub(super) bound: Bound,
    pub(super) goal: f64,
    pub(super) reached: f64,
}

/// Whether the goal is an upper or a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    AtMost,
    AtLeast,
}

impl Goal {
    pub(super) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtMost => self.reached <= self.goal,
            Bound::AtLeast => self.reached >= self.goal,
        }
    }
}

/// Instructions, allocations and allocated KiB of a small operation, on every topology. The found
/// document itself has 0.2 KiB.
const COUNTS: [(Task, [f64; 3]); 3] = [
    (Task::Ping, [10_000.0, 6.0, 1.0]),
    (Task::InsertOne, [14_000.0, 8.0, 2.0]),
    (Task::FindOne, [16_000.0, 10.0, 2.2]),
];

/// Operations per second at [`MOST`] tasks, relative to the lower bound on tokio.
const SHARES_AT_MOST: [(Task, f64); 3] = [(Task::Ping, 0.75), (Task::InsertOne, 0.75), (Task::FindOne, 0.75)];

/// Operations per second at [`MANY`] tasks, relative to the lower bound on blocking sockets.
const SHARES_AT_MANY: [(Task, f64); 3] = [
    (Task::Ping, 0.85),
    (Task::InsertOne, 0.80),
    (Task::FindOneRawTweet, 0.80),
];

/// CPU time at [`MANY`] tasks, relative to the lower bound on blocking sockets.
const CPU_AT_MANY: [(Task, f64); 4] = [
    (Task::Ping, 1.18),
    (Task::InsertOne, 1.15),
    (Task::InsertOne27k, 2.84),
    (Task::FindOneRawTweet, 1.25),
];

/// CPU time of the tasks with many documents, relative to another client.
const CPU_OF_BULK: [(Task, Role, f64); 7] = [
    (Task::Find10kOwned, Role::Official, 0.29),
    (Task::Find10kBorrowed, Role::Official, 0.16),
    (Task::Find10kTweetsDocument, Role::Official, 0.40),
    (Task::Find10kTweetsRaw, Role::Official, 0.08),
    (Task::Find10kTweetsRaw, Role::Libmongoc, 0.69),
    (Task::InsertMany10k, Role::Official, 0.17),
    (Task::InsertMany10k, Role::Libmongoc, 0.24),
];

/// Maximum size of a future, in bytes.
const FUTURE: f64 = 1_024.0;

/// All goals for which there are measurements.
pub(super) fn of(report: &Report) -> Vec<Goal> {
    let mut goals = counts(report);
    let width = |tasks| format!("{tasks} tasks");
    for (task, share) in SHARES_AT_MOST {
        goals.extend(rate(report, task, MOST, Role::Floor, share));
    }
    for (task, share) in SHARES_AT_MANY {
        goals.extend(rate(report, task, MANY, Role::Blocking, share));
    }
    for (task, share) in CPU_AT_MANY {
        let times = row(report, task, MANY, Runtime::Multi);
        goals.extend(cpu(report, times, &width(MANY), Role::Blocking, share));
    }
    for (task, peer, share) in CPU_OF_BULK {
        let times = row(report, task, 1, Runtime::Current);
        goals.extend(cpu(report, times, "1 task", peer, share));
    }
    for peer in [Role::Libmongoc, Role::Official] {
        goals.extend(ahead(report, peer));
    }
    goals.extend(largest_future(report));
    goals
}

fn counts(report: &Report) -> Vec<Goal> {
    let mut goals = Vec::new();
    for counted in &report.counts {
        let bounds = COUNTS.iter().find(|(task, _)| task.name() == counted.task);
        let ours = report.entry(&counted.entries, Role::Marula);
        let Some(((_, bounds), ours)) = bounds.zip(ours) else {
            continue;
        };
        let Count {
            instructions,
            allocations,
            bytes,
        } = ours;
        let kinds = [
            ("instructions", instructions),
            ("allocations", allocations),
            ("KiB allocated", bytes / 1024.0),
        ];
        goals.extend(kinds.into_iter().zip(bounds).map(|((kind, reached), goal)| Goal {
            what: format!("{kind}: {}, {}", counted.task, counted.topology),
            bound: Bound::AtMost,
            goal: *goal,
            reached,
        }));
    }
    goals
}

fn row(report: &Report, task: Task, tasks: u64, runtime: Runtime) -> Option<&Times> {
    report.times.iter().find(|times| {
        (times.task, times.topology, times.tasks, times.runtime)
            == (task.name(), Topology::Standalone.name(), tasks, runtime.name())
    })
}

/// The measurements of marula and of another client.
fn pair(report: &Report, times: &Times, peer: Role) -> Option<(Timing, Timing)> {
    let ours = report.entry(&times.entries, Role::Marula);
    ours.zip(report.entry(&times.entries, peer))
}

fn rate(report: &Report, task: Task, tasks: u64, floor: Role, goal: f64) -> Option<Goal> {
    let times = row(report, task, tasks, Runtime::Multi)?;
    let (ours, floor_s) = pair(report, times, floor)?;
    Some(Goal {
        what: format!(
            "operations per second, relative to the {} floor: {task}, {tasks} tasks",
            floor_name(floor)
        ),
        bound: Bound::AtLeast,
        goal,
        reached: ours.ops_per_second.median / floor_s.ops_per_second.median,
    })
}

fn cpu(report: &Report, times: Option<&Times>, width: &str, peer: Role, goal: f64) -> Option<Goal> {
    let times = times?;
    let (ours, peer_s) = pair(report, times, peer)?;
    let of = match peer {
        Role::Blocking | Role::Floor => format!("the {} floor", floor_name(peer)),
        other => other.name().to_owned(),
    };
    Some(Goal {
        what: format!("CPU time, relative to {of}: {}, {width}", times.task),
        bound: Bound::AtMost,
        goal,
        reached: ours.cpu_us.median / peer_s.cpu_us.median,
    })
}

fn floor_name(floor: Role) -> &'static str {
    if floor == Role::Floor { "tokio" } else { "blocking" }
}

/// Number of rows in which marula uses less CPU time than another client. The goal is all rows.
fn ahead(report: &Report, peer: Role) -> Option<Goal> {
    let pairs: Vec<_> = report
        .times
        .iter()
        .filter_map(|times| pair(report, times, peer))
        .collect();
    let less = |(ours, peer): &&(Timing, Timing)| ours.cpu_us.median < peer.cpu_us.median;
    (!pairs.is_empty()).then(|| Goal {
        what: format!("rows with less CPU time than {}", peer.name()),
        bound: Bound::AtLeast,
        goal: pairs.len() as f64,
        reached: pairs.iter().filter(less).count() as f64,
    })
}

fn largest_future(report: &Report) -> Vec<Goal> {
    let ours = report
        .futures
        .iter()
        .filter(|futures| futures.role != Role::Official);
    let largest = ours.filter_map(|futures| {
        let largest = futures.sizes.iter().max_by_key(|size| size.held)?;
        Some(Goal {
            what: format!(
                "bytes of the largest future of {} ({})",
                futures.title, largest.call
            ),
            bound: Bound::AtMost,
            goal: FUTURE,
            reached: largest.held as f64,
        })
    });
    largest.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::report::{Futures, Size, samples};

    fn find<'a>(goals: &'a [Goal], start: &str) -> &'a Goal {
        let goal = goals.iter().find(|goal| goal.what.starts_with(start));
        goal.unwrap_or_else(|| panic!("{start}: {goals:?}"))
    }

    #[test]
    fn counts_are_compared_with_their_goals() {
        let goals = of(&samples::report());
        let instructions = find(&goals, "instructions: ping, standalone");
        assert_eq!((instructions.goal, instructions.reached), (10_000.0, 11_000.0));
        assert!(!instructions.is_met());
        assert!(find(&goals, "allocations: ping").is_met());
        assert_eq!(find(&goals, "KiB allocated: ping").reached, 0.5);
    }

    #[test]
    fn times_are_compared_with_the_lower_bounds_and_other_clients() {
        let goals = of(&samples::report());
        let rate = find(
            &goals,
            "operations per second, relative to the blocking floor: ping",
        );
        assert_eq!((rate.goal, rate.reached, rate.is_met()), (0.85, 0.4, false));
        let cpu = find(&goals, "CPU time, relative to the blocking floor: ping");
        assert_eq!((cpu.reached, cpu.is_met()), (2.5, false));
        let ahead = find(&goals, "rows with less CPU time than official");
        assert_eq!((ahead.goal, ahead.reached, ahead.is_met()), (1.0, 1.0, true));
        assert!(
            goals.iter().all(|goal| !goal.what.contains("libmongoc")),
            "it has no measurements"
        );
    }

    #[test]
    fn the_largest_future_is_compared() {
        let size = |call: &str, held| Size {
            call: call.to_owned(),
            held,
            boxed: None,
        };
        let futures = |role, title: &str, held| Futures {
            role,
            title: title.into(),
            sizes: vec![size("ping", 10), size("find", held)],
        };
        let mut report = samples::report();
        report.futures = vec![
            futures(Role::Marula, "marula", 2_000),
            futures(Role::Official, "official", 9_000),
        ];
        let goals = of(&report);
        let largest = find(&goals, "bytes of the largest future of marula (find)");
        assert!(largest.reached == 2_000.0 && !largest.is_met());
        assert!(!goals.iter().any(|goal| goal.reached == 9_000.0));
    }
}
