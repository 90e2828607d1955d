//! The canned server as a process of its own.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

use super::Failure;

/// A deployment of the canned server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    Standalone,
    OneNode,
    ThreeNode,
}

impl Topology {
    pub(super) const ALL: [Self; 3] = [Self::Standalone, Self::OneNode, Self::ThreeNode];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::OneNode => "one-node",
            Self::ThreeNode => "three-node",
        }
    }
}

/// A running server. It ends when this is dropped.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    uris: Vec<(String, String)>,
}

/// For every client alike: a pool for all tasks, and no heartbeat while something is measured.
const OPTIONS: &str = "maxPoolSize=100&heartbeatFrequencyMS=3600000";

impl Server {
    /// Starts the server; with a delay, every reply is delayed by this many microseconds.
    pub(super) fn start(delay_us: Option<u64>) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("canned");
        if let Some(delay) = delay_us {
            command.args(["--delay-us", &delay.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("the server has no output")?;
        let mut server = Self {
            child,
            input,
            uris: Vec::new(),
        };
        for line in BufReader::new(output).lines().take(Topology::ALL.len()) {
            let line = line?;
            let (name, uri) = line.split_once(' ').ok_or("the server printed no address")?;
            server.uris.push((name.to_owned(), uri.to_owned()));
        }
        Ok(server)
    }

    pub(super) fn uri(&self, topology: Topology) -> Result<String, Failure> {
        let (_, uri) = self
            .uris
            .iter()
            .find(|(name, _)| name == topology.name())
            .ok_or("the server has ended")?;
        let joint = if uri.contains('?') { '&' } else { '?' };
        Ok(format!("{uri}{joint}{OPTIONS}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has nothing to lose; what it ends with is of no interest.
        let _ = self.child.wait();
    }
}
