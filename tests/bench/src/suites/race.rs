//! One task, all contestants: their iterations take turns.

use std::time::Duration;

use marula_bench_shared::harness::{Assignment, Data, Phase, Task, rule::Rule, statistics::Times};
use serde::Serialize;

use crate::suites::{
    Failure,
    contestant::{Contestant, Running, Start},
    cpu,
};

/// A contestant and the server that it uses.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Who.
    pub contestant: Contestant,
    /// The connection string; tasks of the codec need none.
    pub uri: Option<String>,
    /// The database, no one else's.
    pub database: String,
    /// The number of the server's process, where it is on this machine and nobody else uses it.
    pub server: Option<u32>,
}

/// The task and how long it is measured.
#[derive(Clone, Debug)]
pub struct Heat {
    /// The task.
    pub task: Task,
    /// How many units an iteration has.
    pub units: u64,
    /// How many iterations.
    pub rule: Rule,
    /// The unpacked data.
    pub data: Data,
}

/// What came of it for a contestant.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured.
    Measured(Measured),
    /// The contestant has no means for the task, and why.
    Missing(String),
    /// Something failed.
    Failed(String),
}

/// Times, and CPU seconds of all measured phases together.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What the measured phases took.
    pub times: Times,
    /// CPU time of the contestant, where `/proc` tells.
    pub client_cpu: Option<f64>,
    /// CPU time of its server, where that is known.
    pub server_cpu: Option<f64>,
}

impl Measured {
    /// The server's share of all CPU time; `None` where it isn't known, or too little was used to tell.
    #[must_use]
    pub fn server_share(&self) -> Option<f64> {
        let (client, server) = (self.client_cpu?, self.server_cpu?);
        let all = client + server;
        (all >= 0.1).then(|| server / all)
    }
}

impl Outcome {
    /// What was measured.
    #[must_use]
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            Self::Missing(_) | Self::Failed(_) => None,
        }
    }
}

struct Runner {
    running: Running,
    server: Option<u32>,
    times: Vec<Duration>,
    client_cpu: Option<Duration>,
    server_cpu: Option<Duration>,
}

enum State {
    Running(Box<Runner>),
    Over(Outcome),
}

/// Runs the task; the outcomes stand in the order of the lanes.
#[must_use]
pub fn race(lanes: &[Lane], heat: &Heat) -> Vec<Outcome> {
    let mut states: Vec<State> = lanes.iter().map(|lane| begin(lane, heat)).collect();
    loop {
        let mut more = false;
        for state in &mut states {
            let State::Running(runner) = state else { continue };
            match runner.iterate() {
                Err(error) => *state = State::Over(Outcome::Failed(error.to_string())),
                Ok(()) if heat.rule.is_enough(runner.times.len(), runner.times.iter().sum()) => {
                    let outcome = runner.finish(heat);
                    *state = State::Over(outcome.unwrap_or_else(|error| Outcome::Failed(error.to_string())));
                }
                Ok(()) => more = true,
            }
        }
        if !more {
            break;
        }
    }
    let outcomes = states.into_iter().map(|state| match state {
        State::Over(outcome) => outcome,
        State::Running(_) => Outcome::Failed("it did not end".to_owned()),
    });
    outcomes.collect()
}

fn begin(lane: &Lane, heat: &Heat) -> State {
    let assignment = Assignment {
        task: heat.task,
        units: heat.units,
        uri: lane.uri.clone(),
        database: lane.database.clone(),
        data: heat.data.clone(),
    };
    let started = lane.contestant.start(&assignment).and_then(|start| match start {
        Start::Missing(why) => Ok(State::Over(Outcome::Missing(why))),
        Start::Ready(mut running) => {
            running.phase(Phase::Setup)?;
            Ok(State::Running(Box::new(Runner {
                running,
                server: lane.server,
                times: Vec::new(),
                client_cpu: Some(Duration::ZERO),
                server_cpu: Some(Duration::ZERO),
            })))
        }
    });
    started.unwrap_or_else(|error| State::Over(Outcome::Failed(error.to_string())))
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

    fn finish(&mut self, heat: &Heat) -> Result<Outcome, Failure> {
        self.running.phase(Phase::Teardown)?;
        let times = Times::of(&self.times, heat.task.bytes(heat.units)).ok_or("nothing was measured")?;
        Ok(Outcome::Measured(Measured {
            times,
            client_cpu: self.client_cpu.map(|time| time.as_secs_f64()),
            server_cpu: self.server_cpu.map(|time| time.as_secs_f64()),
        }))
    }
}

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
            "too little to tell"
        );
    }

    #[test]
    fn a_program_that_is_not_there_has_failed() {
        let lane = Lane {
            contestant: Contestant {
                name: "nobody".into(),
                program: "no-such-program".into(),
            },
            uri: None,
            database: "d".into(),
            server: None,
        };
        let heat = Heat {
            task: Task::FlatEncode,
            units: 1,
            rule: Rule::quick(),
            data: Data::new("f".into()),
        };
        let outcomes = race(&[lane], &heat);
        assert!(matches!(&outcomes[..], [Outcome::Failed(why)] if why.starts_with("no-such-program: ")));
    }
}
