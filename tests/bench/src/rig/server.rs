//! The server with precomputed replies, in a separate process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

use super::Failure;

/// A deployment of the server.
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

/// A running server. Dropping it stops the process.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    uris: Vec<(String, String)>,
}

/// URI options of all clients: a connection for every task, and no heartbeat during a measurement.
const OPTIONS: &str = "maxPoolSize=100&heartbeatFrequencyMS=3600000";

impl Server {
    /// Starts the server, with a delay before every reply in microseconds.
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
            let (name, uri) = line.split_once(' ').ok_or("the server printed an invalid line")?;
            server.uris.push((name.to_owned(), uri.to_owned()));
        }
        Ok(server)
    }

    pub(super) fn uri(&self, topology: Topology) -> Result<String, Failure> {
        let (_, uri) = self
            .uris
            .iter()
            .find(|(name, _)| name == topology.name())
            .ok_or("the server has exited")?;
        let separator = if uri.contains('?') { '&' } else { '?' };
        Ok(format!("{uri}{separator}{OPTIONS}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        // The server has no state to save, so its exit status is ignored.
        let _ = self.child.wait();
    }
}
