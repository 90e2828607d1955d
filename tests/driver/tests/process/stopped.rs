//! A process that is stopped (SIGSTOP) while a reply arrives, as by a debugger, a container that is
//! frozen, or a machine that is suspended. The client is in a process of its own: this binary, which
//! runs one test again.

use std::{
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
};
use marula_driver_tests::proxy::{Action, Proxy};
use marula_test_server::TestServer;
use tokio::runtime;

/// Set in the processes that these tests start: the connection string.
const URI: &str = "MARULA_TESTS_STOPPED_URI";
/// Set in the processes that these tests start, if the runtime has worker threads.
const WORKERS: &str = "MARULA_TESTS_STOPPED_WORKERS";

/// `timeoutMS` of the operation.
const LIMIT: Duration = Duration::from_secs(2);

/// Runs in the processes that the other tests start. Does nothing otherwise.
#[test]
fn operation_of_the_child() {
    let Ok(uri) = std::env::var(URI) else {
        return;
    };
    let mut builder = match std::env::var_os(WORKERS) {
        Some(_) => runtime::Builder::new_multi_thread(),
        None => runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = Client::connect(uri).await.expect("a client");
        let database = client.database("d");
        // The handshake is not part of the time limit.
        database.run_command(doc! { "ping": 1 }).await.expect("connected");
        let things = database.collection::<Document>("things");
        let found = things.find_one(doc! {}).timeout(LIMIT).await;
        assert_eq!(found.expect("the reply"), None);
    });
}

/// Sends a signal to the process.
fn signal(child: &Child, name: &str) {
    let command = format!("kill -{name} {}", child.id());
    let sent = Command::new("sh").args(["-c", &command]).status();
    assert!(sent.expect("a shell").success(), "{command}");
}

/// Whether all threads of the process are stopped.
fn is_stopped(child: &Child) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("the threads");
    tasks.into_iter().all(|task| {
        let stat = task.expect("a thread").path().join("stat");
        let stat = std::fs::read_to_string(stat).expect("the state");
        // The name of the program is in parentheses.
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| state.starts_with('T'))
    })
}

mod timed {
    use super::*;

    /// The reply to `find` arrives while the process is stopped, for longer than the time limit.
    async fn reply_arrives_in_a_stopped_process(workers: bool) -> Output {
        let server = TestServer::builder()
            .standalone()
            .start()
            .await
            .expect("a server");
        let proxy = Proxy::start(server.addresses()[0]).await;
        proxy.set_rule(|exchange| match exchange.command {
            "find" => Action::Delay,
            _ => Action::Pass,
        });
        let mut command = Command::new(std::env::current_exe().expect("the path of this binary"));
        command
            .args(["--exact", "stopped::operation_of_the_child"])
            .env(URI, proxy.uri(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if workers {
            command.env(WORKERS, "1");
        }
        let child = command.spawn().expect("the process runs");
        proxy.wait_for_requests("find", 1).await;
        signal(&child, "STOP");
        while !is_stopped(&child) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        proxy.end_waits();
        // The time limit has begun before the process was stopped. A timer that fires more than a second
        // late is that of a stopped process.
        tokio::time::sleep(LIMIT + Duration::from_secs(2)).await;
        signal(&child, "CONT");
        let output = tokio::task::spawn_blocking(|| child.wait_with_output());
        output.await.expect("no panic").expect("the output")
    }

    fn check(workers: bool) {
        let _alone = crate::lock_process();
        let runtime = runtime::Runtime::new().expect("a runtime");
        let output = runtime.block_on(reply_arrives_in_a_stopped_process(workers));
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{}{}", text[0], text[1]);
        assert!(text[0].contains("1 passed"), "{}", text[0]);
    }

    #[test]
    fn a_reply_that_arrived_while_the_process_was_stopped_is_read() {
        check(false);
    }

    #[test]
    fn a_reply_that_arrived_while_the_process_was_stopped_is_read_with_worker_threads() {
        check(true);
    }
}
