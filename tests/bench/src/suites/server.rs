//! The test server in a separate process, as a replica set.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::suites::Failure;

/// A running server. Dropping it stops the process.
#[derive(Debug)]
pub struct Server {
    child: Child,
    uri: String,
    /// Kept open, because the server writes more than the first line.
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started or prints no connection string.
    pub fn start(program: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        // Transactions require it.
        command.arg("--replica-set");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::new(child.stdout.take().ok_or("the server has no output")?);
        let mut uri = String::new();
        output.read_line(&mut uri)?;
        let server = Self {
            child,
            uri: uri.trim().to_owned(),
            _output: output,
        };
        if server.uri.is_empty() {
            return Err("the server printed no connection string".into());
        }
        Ok(server)
    }

    /// The connection string.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server exits when its standard input is closed. It has no state to save.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
