//! A contestant's program, told what to do line by line.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use marula_bench_shared::harness::{Assignment, Phase};

use crate::suites::Failure;

/// A program that can do the tasks, or most of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contestant {
    /// As tables call it.
    pub name: String,
    /// See `marula_bench_shared::harness::program`.
    pub program: PathBuf,
}

/// A contestant with an assignment.
#[derive(Debug)]
pub enum Start {
    /// It waits for phases.
    Ready(Running),
    /// It has no means for the task, and why.
    Missing(String),
}

/// A contestant at work. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Contestant {
    /// Starts the program.
    ///
    /// # Errors
    /// When it can't be started, or says that it failed.
    pub fn start(&self, assignment: &Assignment) -> Result<Start, Failure> {
        let mut command = Command::new(&self.program);
        command.args(assignment.arguments());
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().ok_or("the program has no output")?);
        let mut running = Running {
            child,
            orders,
            answers,
        };
        let answer = running.answer()?;
        match answer.split_once(' ') {
            _ if answer == "ready" => Ok(Start::Ready(running)),
            Some(("missing", why)) => Ok(Start::Missing(why.to_owned())),
            _ => Err(failed(&answer)),
        }
    }
}

fn failed(answer: &str) -> Failure {
    match answer.strip_prefix("failed ") {
        Some(why) => why.into(),
        None => format!("the program said \"{answer}\"").into(),
    }
}

impl Running {
    fn answer(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("the program has ended: {}", self.child.wait()?).into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Does a phase; returns what it took when it is the measured one, else zero.
    ///
    /// # Errors
    /// When the program fails or has ended.
    pub fn phase(&mut self, phase: Phase) -> Result<Duration, Failure> {
        if let Some(orders) = &mut self.orders {
            writeln!(orders, "{}", phase.name())?;
            orders.flush()?;
        }
        let answer = self.answer()?;
        match answer.split_once(' ') {
            _ if answer == "done" => Ok(Duration::ZERO),
            Some(("done", nanoseconds)) => Ok(Duration::from_nanos(nanoseconds.parse()?)),
            _ => Err(failed(&answer)),
        }
    }

    /// The number of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}
