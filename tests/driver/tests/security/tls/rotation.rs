//! Servers whose certificate is replaced while clients use them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::wait_for_description,
};
use marula_driver_tests::{
    standalone,
    tls::{Authority, Files, TlsCounts, TlsTerminator},
};
use tokio::{sync::watch, task::JoinSet};

/// Thirty-two tasks that read until they are stopped.
struct Readers {
    /// The number of reads of each task.
    done: Arc<watch::Sender<Vec<usize>>>,
    stop: Arc<AtomicBool>,
    tasks: JoinSet<()>,
}

/// Which errors are expected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    None,
    /// The server is unreachable for a while, so one retry may not suffice.
    OfUnavailability,
}

impl Readers {
    fn start(client: &Client, errors: Errors) -> Self {
        let done = Arc::new(watch::Sender::new(vec![0; 32]));
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for task in 0..32 {
            let things = client.database("d").collection::<Document>("things");
            let (done, stop) = (Arc::clone(&done), Arc::clone(&stop));
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    match things.find_one(doc! { "_id": 1 }).await {
                        Ok(found) => assert_eq!(found, Some(doc! { "_id": 1 })),
                        Err(error) if errors == Errors::OfUnavailability => {
                            assert!(error.is_unavailable(), "{error}");
                            continue;
                        }
                        Err(error) => panic!("an error reaches the application: {error:?}"),
                    }
                    done.send_modify(|counts| counts[task] += 1);
                }
            });
        }
        Self { done, stop, tasks }
    }

    /// Waits until each task has read ten times more, so that no retry of an earlier failure is in
    /// progress.
    async fn until_read(&mut self) {
        let before = self.done.borrow().clone();
        let mut done = self.done.subscribe();
        let all_have = |counts: &Vec<usize>| counts.iter().zip(&before).all(|(now, then)| *now >= then + 10);
        tokio::select! {
            reached = done.wait_for(all_have) => drop(reached.expect("the readers")),
            Some(Err(failed)) = self.tasks.join_next() => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacing_a_certificate_of_the_same_authority_causes_no_errors() {
    let authority = Authority::new();
    let server = standalone().await.server;
    let terminator = TlsTerminator::start(&authority.issue(&["localhost"]), server.addresses()[0]).await;
    let files = Files::new();
    let ca_file = files.write("ca.pem", &authority.pem());
    let port = terminator.address.port();
    let uri = format!("mongodb://localhost:{port}/?directConnection=true&tls=true&tlsCAFile={ca_file}");
    let client = Client::connect(uri).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("a write");

    let mut readers = Readers::start(&client, Errors::None);
    for _ in 0..5 {
        readers.until_read().await;
        let full_handshakes = |counts: &TlsCounts| counts.encrypted - counts.resumed;
        let before = full_handshakes(&terminator.counts());
        terminator.set_identity(&authority.issue(&["localhost"]));
        terminator
            .wait_until(|counts| full_handshakes(counts) > before)
            .await;
    }
    readers.until_read().await;
    readers.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_certificate_of_a_new_authority_is_rejected_until_it_is_replaced() {
    let (old, new) = (Authority::new(), Authority::new());
    let server = standalone().await.server;
    let terminator = TlsTerminator::start(&old.issue(&["localhost"]), server.addresses()[0]).await;
    let files = Files::new();
    let ca_file = files.write("ca.pem", &old.pem());
    let port = terminator.address.port();
    let uri = format!("mongodb://localhost:{port}/?directConnection=true&tls=true&tlsCAFile={ca_file}");
    let client = Client::connect(&uri).await.expect("a client");
    let impatient = Client::connect(format!("{uri}&serverSelectionTimeoutMS=1"))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("a write");

    let mut readers = Readers::start(&client, Errors::OfUnavailability);
    readers.until_read().await;
    terminator.set_identity(&new.issue(&["localhost"]));
    for client in [&client, &impatient] {
        let text = wait_for_description(client, |text| text.contains("UnknownIssuer")).await;
        assert!(text.contains("could not be encrypted"), "{text}");
    }
    let admin = impatient.database("admin");
    let error = admin
        .run_command(doc! { "ping": 1 })
        .await
        .expect_err("an untrusted server");
    assert!(format!("{error:#}").contains("UnknownIssuer"), "{error:#}");

    // The file is read when the client is created: a new client trusts the new authority, an
    // existing one does not.
    let _ = files.write("ca.pem", &new.pem());
    super::works(&uri).await;
    let text = wait_for_description(&client, |text| text.contains("(Unknown: ")).await;
    assert!(text.contains("UnknownIssuer"), "{text}");

    // The existing client reconnects when the old certificate is back.
    terminator.set_identity(&old.issue(&["localhost"]));
    readers.until_read().await;
    readers.finish().await;
}
