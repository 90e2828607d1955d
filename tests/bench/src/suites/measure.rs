//! Measures one task for all clients, in alternating iterations.

use std::time::Duration;

use marula_bench_shared::harness::{Assignment, Data, Phase, Task, rule::Rule, statistics::Times};
use serde::Serialize;

use crate::suites::{
    Failure,
    client::{BenchClient, Running, Start},
    cpu,
};

/// A client and the server that it uses.
#[derive(Clone, Debug)]
pub struct Target {
    /// The program that runs the task.
    pub client: BenchClient,
    /// The connection string; `None` for codec tasks.
    pub uri: Option<String>,
    /// The database, which no other client uses.
    pub database: String,
    /// The process id of the server, if it runs on this machine and no other client uses it.
    pub server: Option<u32>,
}

/// A task and the rule for its iterations.
#[derive(Clone, Debug)]
pub struct TaskRun {
    /// The task.
    pub task: Task,
    /// Number of units of an iteration.
    pub units: u64,
    /// The rule for the number of iterations.
    pub rule: Rule,
    /// The unpacked data.
    pub data: Data,
}

/// The result of a task for a client.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The measurement.
    Measured(Measured),
    /// The client does not support the task: the reason.
    Missing(String),
    /// The task failed: the error.
    Failed(String),
}

/// The times and the CPU time of the measured phases.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The durations of the measured phases.
    pub times: Times,
    /// Total CPU time of the client in seconds, if it can be read.
    pub client_cpu: Option<f64>,
    /// Total CPU time of the server in seconds, if it can be read.
    pub server_cpu: Option<f64>,
}

impl Measured {
    /// The server's share of the CPU time, from 0 to 1. `None` if a CPU time is unknown, or if
    /// client and server together used less than 0.1 s, which is too little to measure in units of
    /// 10 ms.
    #[must_use]
    pub fn server_share(&self) -> Option<f64> {
        let (client, server) = (self.client_cpu?, self.server_cpu?);
        let total = client + server;
        (total >= 0.1).then(|| server / total)
    }
}

impl Outcome {
    /// The measurement, if there is one.
    #[must_use]
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            Self::Missing(_) | Self::Failed(_) => None,
        }
    }
}

/// A client that runs the task, and the sums over its iterations.
struct Runner {
    running: Running,
    /// The process id of the server.
    server: Option<u32>,
    /// The duration of the measured phase of each iteration.
    times: Vec<Duration>,
    /// `None` once a CPU time could not be read.
    client_cpu: Option<Duration>,
    server_cpu: Option<Duration>,
}

enum State {
    Running(Box<Runner>),
    Finished(Outcome),
}

/// Runs the task until each client has enough iterations. In each round every client runs one
/// iteration, so that changes of the machine's speed affect all clients. The outcomes are in the
/// order of the targets.
#[must_use]
pub fn measure(targets: &[Target], task_run: &TaskRun) -> Vec<Outcome> {
    let mut states: Vec<State> = targets.iter().map(|target| begin(target, task_run)).collect();
    loop {
        let mut more = false;
        for state in &mut states {
            let State::Running(runner) = state else { continue };
            match runner.iterate() {
                Err(error) => *state = State::Finished(Outcome::Failed(error.to_string())),
                Ok(())
                    if task_run
                        .rule
                        .is_enough(runner.times.len(), runner.times.iter().sum()) =>
                {
                    let outcome = runner.finish(task_run);
                    *state =
                        State::Finished(outcome.unwrap_or_else(|error| Outcome::Failed(error.to_string())));
                }
                Ok(()) => more = true,
            }
        }
        if !more {
            break;
        }
    }
    let outcomes = states.into_iter().map(|state| match state {
        State::Finished(outcome) => outcome,
        State::Running(_) => Outcome::Failed("the program did not stop".to_owned()),
    });
    outcomes.collect()
}

/// Starts the client and runs the setup of the task.
fn begin(target: &Target, task_run: &TaskRun) -> State {
    let assignment = Assignment {
        task: task_run.task,
        units: task_run.units,
        uri: target.uri.clone(),
        database: target.database.clone(),
        data: task_run.data.clone(),
    };
    let started = target.client.start(&assignment).and_then(|start| match start {
        Start::Missing(why) => Ok(State::Finished(Outcome::Missing(why))),
        Start::Ready(mut running) => {
            running.phase(Phase::Setup)?;
            Ok(State::Running(Box::new(Runner {
                running,
                server: target.server,
                times: Vec::new(),
                client_cpu: Some(Duration::ZERO),
                server_cpu: Some(Duration::ZERO),
            })))
        }
    });
    started.unwrap_or_else(|error| State::Finished(Outcome::Failed(error.to_string())))
}

impl Runner {
    fn iterate(&mut self) -> Result<(), Failure> {
        self.running.phase(Phase::Before)?;
        let used = |runner: &Self| (cpu::of(runner.running.process()), runner.server.and_then(cpu::of));
        let (client_before, server_before) = used(self);
        self.times.push(self.running.phase(Phase::Run)?);
        let (client_after, server_after) = used(self);
        add(&mut self.client_cpu, client_before, client_after);
        add(&mut self.server_cpu, server_before, server_after);
        self.running.phase(Phase::After)?;
        Ok(())
    }

    fn finish(&mut self, task_run: &TaskRun) -> Result<Outcome, Failure> {
        self.running.phase(Phase::Teardown)?;
        let times =
            Times::of(&self.times, task_run.task.bytes(task_run.units)).ok_or("there are no iterations")?;
        Ok(Outcome::Measured(Measured {
            times,
            client_cpu: self.client_cpu.map(|time| time.as_secs_f64()),
            server_cpu: self.server_cpu.map(|time| time.as_secs_f64()),
        }))
    }
}

/// Adds the CPU time between two measurements. The sum is `None` after a missing measurement.
fn add(sum: &mut Option<Duration>, before: Option<Duration>, after: Option<Duration>) {
    let used = before
        .zip(after)
        .map(|(before, after)| after.saturating_sub(before));
    *sum = sum.zip(used).map(|(sum, used)| sum + used);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_the_servers() {
        let measured = |client_cpu, server_cpu| Measured {
            times: Times::of(&[Duration::from_secs(1)], 1).unwrap(),
            client_cpu,
            server_cpu,
        };
        assert_eq!(measured(Some(1.0), Some(3.0)).server_share(), Some(0.75));
        assert_eq!(measured(Some(1.0), None).server_share(), None);
        assert_eq!(
            measured(Some(0.01), Some(0.01)).server_share(),
            None,
            "too small to measure"
        );
    }

    #[test]
    fn a_missing_program_is_a_failure() {
        let target = Target {
            client: BenchClient {
                name: "missing".into(),
                program: "no-such-program".into(),
            },
            uri: None,
            database: "d".into(),
            server: None,
        };
        let task_run = TaskRun {
            task: Task::FlatEncode,
            units: 1,
            rule: Rule::quick(),
            data: Data::new("f".into()),
        };
        let outcomes = measure(&[target], &task_run);
        assert!(matches!(&outcomes[..], [Outcome::Failed(why)] if why.starts_with("no-such-program: ")));
    }
}
