//! Tasks that insert numbered documents, and tasks that read them from change streams, while
//! connections fail.

use std::{pin::pin, time::Duration};

use futures_util::TryStreamExt;
use marula_driver::{
    ChangeStream, ChangeStreamEvent, Client, Collection, Error, ErrorKind, Result, ResumeToken,
    bson::{Document, doc},
};
use tokio::sync::watch;

use super::{
    kinds::Random,
    script::Script,
    work::{self, poll_at_most},
};

/// The code of an insert whose `_id` is stored.
const DUPLICATE_KEY: i32 = 11000;
/// The bound of the number of events after which a stream is closed and opened again.
const EVENTS: usize = 60;
/// How long the server waits for an event.
const AWAIT: Duration = Duration::from_millis(300);

/// What a stream watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Collection,
    Database,
    Deployment,
}

/// How a stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// With `try_next`, whose future is sometimes dropped.
    Next,
    /// With `next_if_any`.
    NextIfAny,
    /// As a `Stream`, in `tokio::select!` with another event.
    Select,
}

/// The collection of a writer and its readers.
pub(super) fn collection(client: &Client, group: usize) -> Collection<Document> {
    client.database("faults").collection(&format!("numbers{group}"))
}

/// Checks that the error is one that a failed connection or server may cause.
fn check(error: &Error) {
    // Of the fail points, after the retries of the driver.
    let is_server_fault = matches!(error.code(), Some(6 | 91 | 189 | 462 | 10107 | 11600 | 13435));
    if !is_server_fault && !matches!(error.kind(), ErrorKind::Timeout(_)) {
        work::check(error);
    }
}

/// Inserts the document, again if its insert fails. It is stored once when this returns.
async fn store(numbers: &Collection<Document>, document: &Document) {
    let mut may_be_stored = false;
    loop {
        match numbers.insert_one(document).await {
            Ok(_) => return,
            Err(error) if may_be_stored && error.code() == Some(DUPLICATE_KEY) => return,
            Err(error) => check(&error),
        }
        may_be_stored = true;
    }
}

/// Inserts numbered documents until the script has ended. Returns the next number. `written`
/// receives each number.
pub(super) async fn write(
    numbers: Collection<Document>,
    script: Script,
    mut readers: watch::Receiver<usize>,
    expected: usize,
    written: watch::Sender<i64>,
) -> i64 {
    readers
        .wait_for(|readers| *readers == expected)
        .await
        .expect("a reader exists");
    let mut number = 0;
    while !script.is_done() {
        let before = script.performed();
        store(&numbers, &doc! { "_id": number }).await;
        script.succeeded_after(before);
        number += 1;
        written.send_replace(number);
    }
    number
}

/// Inserts the document at which the readers end.
pub(super) async fn end(numbers: &Collection<Document>, number: i64) {
    store(numbers, &doc! { "_id": number, "is_last": true }).await;
}

/// A reader of the numbers of one collection.
pub(super) struct Reader {
    pub(super) numbers: Collection<Document>,
    pub(super) scope: Scope,
    pub(super) reading: Reading,
    pub(super) random: Random,
    /// The number of readers whose stream is open.
    pub(super) opened: watch::Sender<usize>,
    /// The numbers that were written.
    pub(super) written: watch::Receiver<i64>,
}

/// What a reader did.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) events: i64,
    pub(super) errors: usize,
    /// The number of times that the reader opened the stream with a token.
    pub(super) reopened: usize,
}

type Events = ChangeStream<ChangeStreamEvent<Document>>;

impl Reader {
    /// Reads to the last number. Panics if a number is missing, doubled or out of order.
    pub(super) async fn read(mut self) -> Report {
        let mut report = Report::default();
        let mut changes = self.open(None).await;
        self.opened.send_modify(|opened| *opened += 1);
        let mut left = 1 + self.random.below(EVENTS);
        loop {
            let event = match self.next(&mut changes).await {
                Ok(Some(event)) => event,
                Ok(None) => continue,
                Err(error) => {
                    check(&error);
                    report.errors += 1;
                    if !changes.is_alive() {
                        changes = self.open_again(changes, &mut report).await;
                    }
                    continue;
                }
            };
            let key = event.document_key.as_ref().expect("the event of an insert");
            assert_eq!(
                key.get_i64("_id").ok(),
                Some(report.events),
                "an event is missing, doubled or out of order: {self:?}, {report:?}"
            );
            report.events += 1;
            let document = event.full_document.expect("the inserted document");
            if document.contains_key("is_last") {
                changes.close().await;
                return report;
            }
            left -= 1;
            if left == 0 {
                left = 1 + self.random.below(EVENTS);
                changes = self.open_again(changes, &mut report).await;
            }
        }
    }

    /// Closes the stream, and opens another at its position.
    async fn open_again(&mut self, changes: Events, report: &mut Report) -> Events {
        let token = changes.resume_token().expect("a position");
        report.reopened += 1;
        if self.random.below(2) == 0 {
            changes.close().await;
        } else {
            drop(changes);
        }
        self.open(Some(token)).await
    }

    async fn open(&self, token: Option<ResumeToken>) -> Events {
        loop {
            match self.watch(token.clone()).await {
                Ok(changes) => return changes,
                Err(error) => check(&error),
            }
        }
    }

    async fn watch(&self, token: Option<ResumeToken>) -> Result<Events> {
        let own = doc! { "$match": { "ns.coll": self.numbers.name() } };
        let database = self.numbers.database();
        let watch = match self.scope {
            Scope::Collection => self.numbers.watch(),
            Scope::Database => database.watch().pipeline([own]),
            Scope::Deployment => database.client().watch().pipeline([own]),
        };
        let watch = watch.max_await_time(AWAIT);
        match token {
            Some(token) => watch.start_after(token).await,
            None => watch.await,
        }
    }

    /// The next event. `None` if the read returned before there was one.
    async fn next(&mut self, changes: &mut Events) -> Result<Option<ChangeStreamEvent<Document>>> {
        match self.reading {
            Reading::Next => {
                let polls = 1 + self.random.below(6);
                let polled = poll_at_most(polls, pin!(changes.try_next())).await;
                let Some(event) = polled.transpose()? else {
                    return Ok(None);
                };
                assert!(event.is_some(), "the stream has ended: {changes:?}");
                Ok(event)
            }
            Reading::NextIfAny => {
                let event = changes.next_if_any().await?;
                assert!(event.is_some() || changes.is_alive(), "{changes:?}");
                Ok(event)
            }
            Reading::Select => tokio::select! {
                event = TryStreamExt::try_next(changes) => {
                    let event = event?;
                    assert!(event.is_some(), "the stream has ended");
                    Ok(event)
                }
                // Without a writer, only events end the wait.
                Ok(()) = self.written.changed() => Ok(None),
            },
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} {:?} of {}",
            self.scope,
            self.reading,
            self.numbers.name()
        )
    }
}
