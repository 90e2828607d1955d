//! A client program of the specified benchmarks, controlled by lines on its standard input.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use marula_bench_shared::harness::{Assignment, Phase};

use crate::suites::Failure;

/// A client program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchClient {
    /// The name in tables.
    pub name: String,
    /// The path of the executable; see `marula_bench_shared::harness::program`.
    pub program: PathBuf,
}

/// The result of starting a client with an assignment.
#[derive(Debug)]
pub enum Start {
    /// The program waits for phases.
    Ready(Running),
    /// The client does not support the task: the reason.
    Missing(String),
}

/// A running client program. Dropping it stops the process.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl BenchClient {
    /// Starts the program.
    ///
    /// # Errors
    /// If the program cannot be started or reports a failure.
    pub fn start(&self, assignment: &Assignment) -> Result<Start, Failure> {
        let mut command = Command::new(&self.program);
        command.args(assignment.arguments());
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().ok_or("the program has no output")?);
        let mut running = Running { child, stdin, stdout };
        let response = running.response()?;
        match response.split_once(' ') {
            _ if response == "ready" => Ok(Start::Ready(running)),
            Some(("missing", why)) => Ok(Start::Missing(why.to_owned())),
            _ => Err(failed(&response)),
        }
    }
}

fn failed(response: &str) -> Failure {
    match response.strip_prefix("failed ") {
        Some(why) => why.into(),
        None => format!("unexpected response of the program: {response:?}").into(),
    }
}

impl Running {
    fn response(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(format!("the program has exited: {}", self.child.wait()?).into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Runs a phase. Returns the duration of the measured phase; zero for the others.
    ///
    /// # Errors
    /// If the program fails or has exited.
    pub fn phase(&mut self, phase: Phase) -> Result<Duration, Failure> {
        if let Some(stdin) = &mut self.stdin {
            writeln!(stdin, "{}", phase.name())?;
            stdin.flush()?;
        }
        let response = self.response()?;
        match response.split_once(' ') {
            _ if response == "done" => Ok(Duration::ZERO),
            Some(("done", nanoseconds)) => Ok(Duration::from_nanos(nanoseconds.parse()?)),
            _ => Err(failed(&response)),
        }
    }

    /// The process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
