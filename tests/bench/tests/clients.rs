//! Runs every task of the client programs of this package against the server with precomputed
//! replies.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Output, Stdio},
};

use marula_bench_shared::contract::Task;

const CLIENTS: [&str; 3] = [
    env!("CARGO_BIN_EXE_client-marula"),
    env!("CARGO_BIN_EXE_client-floor"),
    env!("CARGO_BIN_EXE_client-blocking"),
];

/// The server process, and its connection strings: of a standalone server and of replica sets with
/// one and three nodes.
struct Server {
    child: Child,
    uris: Vec<String>,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_marula-bench"));
        let child = command
            .arg("canned")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("the server starts");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let lines = output.lines().take(3).map(|line| line.expect("a line"));
        let uris = lines
            .map(|line| {
                line.split_once(' ')
                    .expect("a name and a connection string")
                    .1
                    .to_owned()
            })
            .collect();
        Self { child, uris }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server exits when its standard input is closed.
        drop(self.child.stdin.take());
        let ended = self.child.wait().expect("the server ends");
        assert!(ended.success(), "the server: {ended}");
    }
}

/// Runs 3 operations of `task` with `tasks` concurrent tasks on the runtime `current` or `multi`.
fn run(client: &str, uri: &str, task: &str, tasks: &str, runtime: &str) -> Output {
    let mut command = Command::new(client);
    command.args(["--uri", uri, "--task", task, "--tasks", tasks]);
    command.args(["--runtime", runtime, "--ops", "3"]);
    command.output().expect("the client runs")
}

fn assert_done(client: &str, uri: &str, task: Task, tasks: &str, runtime: &str) {
    let output = run(client, uri, task.name(), tasks, runtime);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{client} {task} {uri}: {stderr}");
    let line = String::from_utf8_lossy(&output.stdout);
    assert!(line.starts_with(r#"{"ops":3,"#), "{client} {task} {uri}: {line}");
}

#[test]
fn every_task_succeeds() {
    let server = Server::start();
    for client in CLIENTS {
        for task in Task::ALL {
            assert_done(client, &server.uris[2], task, "1", "current");
        }
    }
}

#[test]
fn every_topology_serves_concurrent_tasks() {
    let server = Server::start();
    for client in CLIENTS {
        for uri in &server.uris {
            for task in [Task::Ping, Task::InsertOne, Task::FindOne] {
                assert_done(client, uri, task, "8", "multi");
            }
        }
    }
}

#[test]
fn the_exit_code_is_2_for_invalid_arguments_and_1_for_failures() {
    for client in CLIENTS {
        assert_eq!(
            run(client, "mongodb://localhost", "pong", "1", "current")
                .status
                .code(),
            Some(2)
        );
        assert_eq!(
            run(client, "not a connection string", "ping", "1", "current")
                .status
                .code(),
            Some(1)
        );
    }
}
