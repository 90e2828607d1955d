//! Results of attempts that were sent, if the encryption of the next attempt fails or does not end in time.

use std::time::Duration;

use marula_driver::{
    BulkWriteError, Client, ClientBulkWriteError, Error, ErrorKind, RETRYABLE_WRITE_ERROR, TimeoutError,
    WriteModel, bson::doc, options::ClientOptions,
};
use marula_driver_tests::{Answer, Proxy, Request, ScriptedServer, proxy::Action, replica_set};

use super::{
    automatic::{Automatic, Sent, patients, recorded, take},
    support::Setup,
    unsent::{unencrypted, with},
};

/// The time limit of operations whose encryption does not end. The first attempt needs far less.
const LIMIT: Duration = Duration::from_millis(1_500);

/// A retryable error after which the server remains available.
const UNREACHABLE: i32 = 6;

/// mongocryptd that gives this answer to each second write.
async fn mongocryptd(to_second: Answer) -> ScriptedServer {
    let mut writes = 0;
    ScriptedServer::start(doc! { "iscryptd": true }, move |request: &Request| {
        let is_write = matches!(request.name(), "insert" | "update" | "bulkWrite");
        writes += u32::from(is_write);
        if is_write && writes.is_multiple_of(2) {
            return to_second.clone();
        }
        unencrypted(request)
    })
    .await
}

fn rejected() -> Answer {
    Answer::Reply(doc! { "ok": 0, "code": 9, "codeName": "FailedToParse", "errmsg": "rejected" })
}

/// A client of a replica set whose second attempts are not encrypted.
struct Second {
    automatic: Automatic,
    _mongocryptd: ScriptedServer,
    client: Client,
    sent: Sent,
}

impl Second {
    async fn is(answer: Answer) -> Self {
        let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
        let mongocryptd = mongocryptd(answer).await;
        let (client, sent) = automatic.client_with("", with(&mongocryptd, ""));
        Self {
            automatic,
            _mongocryptd: mongocryptd,
            client,
            sent,
        }
    }

    /// The next command with this name succeeds, except for its write concern.
    async fn fail_write_concern(&self, command: &str) {
        let concern = doc! { "code": UNREACHABLE, "errmsg": "a secondary cannot be reached" };
        let data = doc! {
            "failCommands": [command], "errorLabels": [RETRYABLE_WRITE_ERROR], "writeConcernError": concern,
        };
        let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
        let admin = self.automatic.setup.client().database("admin");
        admin.run_command(point).await.expect("a fail point");
        take(&self.sent);
    }

    /// Checks that one command was sent since the fail point was set.
    fn sent_once(&self) {
        let sent = take(&self.sent);
        let is_write = |name: &str| matches!(name, "insert" | "update" | "bulkWrite");
        let writes = sent.iter().filter(|(name, _)| is_write(name)).count();
        assert_eq!(writes, 1, "{sent:?}");
    }

    async fn count(&self) -> u64 {
        let count = self.automatic.stored().count_documents(doc! {}).await;
        count.expect("a count")
    }
}

fn concern_code(error: &Error) -> Option<i32> {
    error.write_concern_error().map(|concern| concern.code)
}

fn bulk(error: &Error) -> &BulkWriteError {
    match error.kind() {
        ErrorKind::BulkWrite(failure) => failure,
        _ => panic!("{error:?}"),
    }
}

fn client_bulk(error: &Error) -> &ClientBulkWriteError {
    match error.kind() {
        ErrorKind::ClientBulkWrite(failure) => failure,
        _ => panic!("{error:?}"),
    }
}

fn timeout(error: &Error) -> &TimeoutError {
    match error.kind() {
        ErrorKind::Timeout(timeout) => timeout,
        _ => panic!("{error:?}"),
    }
}

/// The cause of a timeout.
fn cause(error: &Error) -> &Error {
    timeout(error).cause().expect("a cause")
}

/// The server has performed the first attempt, whose reply is lost.
pub(crate) async fn an_error_of_an_attempt_that_was_sent_is_not_replaced_by_one_of_the_encryption() {
    let automatic = Automatic::on(Setup::on(replica_set().await).await).await;
    let target = automatic.setup.deployment.server.primary().expect("a primary");
    let proxy = Proxy::start(target).await;
    let mut inserts = 0;
    proxy.set_rule(move |exchange| {
        inserts += u32::from(exchange.command == "insert");
        match exchange.command {
            "insert" if inserts == 1 => Action::CutAfter(0),
            _ => Action::Pass,
        }
    });
    let mongocryptd = mongocryptd(rejected()).await;
    let options = ClientOptions::parse(&proxy.uri("")).expect("a connection string");
    let (client, sent) = recorded(options, with(&mongocryptd, ""));
    let inserted = patients(&client).insert_one(&doc! { "_id": 1 }).await;
    let error = inserted.expect_err("the reply is lost");
    assert!(error.is_network(), "{error:?}");
    assert!(error.contains_label(RETRYABLE_WRITE_ERROR), "{error:?}");
    assert_eq!(mongocryptd.requests_named("insert").len(), 2);
    let sent = take(&sent);
    let inserts = sent.iter().filter(|(name, _)| name == "insert").count();
    assert_eq!(inserts, 1, "the second was not sent");
    let count = automatic.stored().count_documents(doc! {}).await;
    assert_eq!(count.expect("a count"), 1);
}

/// The first attempt has succeeded, except for its write concern.
pub(crate) async fn a_result_of_an_attempt_that_was_sent_is_not_lost_with_the_encryption_of_the_next() {
    let second = Second::is(rejected()).await;
    let patients = patients(&second.client);
    second.fail_write_concern("insert").await;
    let inserted = patients.insert_one(&doc! { "_id": 1 }).await;
    let error = inserted.expect_err("a write concern error");
    assert_eq!(concern_code(&error), Some(UNREACHABLE));
    second.sent_once();
    second.fail_write_concern("insert").await;
    let writes = [WriteModel::insert_one(&doc! { "_id": 2 })];
    let error = patients
        .bulk_write(writes)
        .await
        .expect_err("a write concern error");
    assert_eq!(concern_code(&error), Some(UNREACHABLE));
    assert_eq!(bulk(&error).inserted_ids.len(), 1, "{error:?}");
    second.sent_once();
    second.fail_write_concern("bulkWrite").await;
    let writes = [3, 4].map(|id| patients.insert_one_model(&doc! { "_id": id }));
    let written = second.client.bulk_write(writes).await;
    let error = written.expect_err("a write concern error");
    assert_eq!(concern_code(&error), Some(UNREACHABLE));
    let failure = client_bulk(&error);
    assert!(failure.error.is_none(), "{error:?}");
    let partial = failure.partial_result.as_ref().expect("a result");
    assert_eq!(partial.inserted_count, 2);
    second.sent_once();
    assert_eq!(second.count().await, 4);
}

/// "Once the timeout expires, a timeout error MUST be raised." It contains the result of the attempt that was sent.
pub(crate) async fn a_result_of_an_attempt_that_was_sent_is_not_lost_with_the_time_limit_of_the_next() {
    let second = Second::is(Answer::Silence).await;
    let patients = patients(&second.client);
    second.fail_write_concern("insert").await;
    let document = doc! { "_id": 1 };
    let inserted = patients.insert_one(&document).timeout(LIMIT).await;
    let error = inserted.expect_err("a time limit");
    assert_eq!(error.operation(), Some("insert"));
    assert!(matches!(cause(&error).kind(), ErrorKind::Write(_)), "{error:?}");
    assert_eq!(concern_code(&error), Some(UNREACHABLE));
    second.sent_once();

    second.fail_write_concern("insert").await;
    let documents = [2, 3].map(|id| doc! { "_id": id });
    let inserted = patients.insert_many(&documents).timeout(LIMIT).await;
    let error = inserted.expect_err("a time limit");
    assert_eq!(error.operation(), Some("insert"));
    assert_eq!(concern_code(&error), Some(UNREACHABLE));
    let failure = bulk(cause(&error));
    assert_eq!(failure.inserted_ids.len(), 2, "{error:?}");
    assert!(
        failure.interrupted_by.is_none(),
        "all commands were sent: {error:?}"
    );
    second.sent_once();

    // The second command cannot be sent in time.
    second.fail_write_concern("update").await;
    let writes = [
        WriteModel::update_one(doc! { "_id": 1 }, doc! { "$set": { "a": 1 } }),
        WriteModel::insert_one(&doc! { "_id": 4 }),
    ];
    let written = patients.bulk_write(writes).timeout(LIMIT).await;
    let error = written.expect_err("a time limit");
    assert_eq!(concern_code(&error), Some(UNREACHABLE), "{error:?}");
    let failure = bulk(cause(&error));
    assert_eq!(
        (failure.matched_count, failure.modified_count),
        (1, 1),
        "{error:?}"
    );
    let interrupted_by = failure.interrupted_by.as_ref().expect("an error");
    assert!(interrupted_by.is_timeout(), "{interrupted_by:?}");
    second.sent_once();
    assert_eq!(second.count().await, 3);
}

pub(crate) async fn a_result_of_a_client_bulk_write_is_not_lost_with_the_time_limit_of_the_next_attempt() {
    let second = Second::is(Answer::Silence).await;
    let patients = patients(&second.client);
    second.fail_write_concern("bulkWrite").await;
    let writes = [1, 2].map(|id| patients.insert_one_model(&doc! { "_id": id }));
    let written = second.client.bulk_write(writes).timeout(LIMIT).await;
    let error = written.expect_err("a time limit");
    assert_eq!(error.operation(), Some("bulkWrite"));
    assert_eq!(concern_code(&error), Some(UNREACHABLE));
    let failure = client_bulk(cause(&error));
    let partial = failure.partial_result.as_ref().expect("a result");
    assert_eq!(partial.inserted_count, 2, "{error:?}");
    assert_eq!(failure.write_concern_errors.len(), 1, "{error:?}");
    second.sent_once();
    assert_eq!(second.count().await, 2);
}
