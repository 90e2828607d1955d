//! Retryable reads and writes with fail points, write concerns and their errors.

use crate::checks::{Checks, code_of};
use crate::context::{Context, field};
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{ErrorKind, Result, WriteFailure};
use mongodb::options::{Acknowledgment, CollectionOptions, WriteConcern};

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    context
        .collection("retries")
        .insert_one(doc! { "_id": 0, "n": 0 })
        .await?;
    reads(checks, context).await?;
    if context.replica_set {
        writes(checks, context).await?;
        applied_once(checks, context).await?;
    } else {
        standalone(checks, context).await?;
    }
    concerns(checks, context).await
}

async fn fail(context: &Context, times: i32, data: Document) -> Result<()> {
    let mut point = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
    if let Ok(data) = point.get_document_mut("data") {
        data.insert("appName", "interop-check");
    }
    context.admin(point).await.map(|_| ())
}

async fn off(context: &Context, name: &str) -> Result<()> {
    context
        .admin(doc! { "configureFailPoint": name, "mode": "off" })
        .await
        .map(|_| ())
}

async fn reads(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("retries");
    for (name, data) in [
        (
            "a retryable code",
            doc! { "failCommands": ["find"], "errorCode": 91 },
        ),
        (
            "a closed connection",
            doc! { "failCommands": ["find"], "closeConnection": true },
        ),
    ] {
        fail(context, 1, data).await?;
        context.commands.clear();
        checks.eq(
            &format!("retryable read: {name}"),
            c.find_one(doc! { "_id": 0 }).await.map(|found| found.is_some()),
            true,
        );
        checks.is(
            &format!("retryable read: {name}: attempts"),
            context.commands.sent("find").len(),
            2,
        );
    }
    fail(context, 2, doc! { "failCommands": ["find"], "errorCode": 91 }).await?;
    checks.code("retryable read: only once more", 91, c.find_one(doc! {}).await);
    off(context, "failCommand").await?;
    fail(context, 1, doc! { "failCommands": ["find"], "errorCode": 8_000 }).await?;
    checks.code("a code that is not retryable", 8_000, c.find_one(doc! {}).await);
    fail(context, 1, doc! { "failCommands": ["distinct"], "errorCode": 91 }).await?;
    checks.eq(
        "fail point: another command is not hit",
        c.find_one(doc! {}).await.map(|found| found.is_some()),
        true,
    );
    off(context, "failCommand").await?;
    let unknown = context
        .admin(doc! { "configureFailPoint": "nonsense", "mode": "off" })
        .await;
    checks.is("fail point: unknown", unknown.is_err(), true);
    Ok(())
}

/// A standalone does not support transaction numbers, so writes are not retried.
async fn standalone(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("retries");
    context.commands.clear();
    c.insert_one(doc! { "_id": 1 }).await?;
    let sent = context.commands.sent("insert");
    checks.is(
        "standalone: no transaction number",
        sent.first().map(|sent| sent.command.contains_key("txnNumber")),
        Some(false),
    );
    fail(context, 1, doc! { "failCommands": ["insert"], "errorCode": 91 }).await?;
    let failed = c.insert_one(doc! { "_id": 2 }).await;
    if let Some(error) = checks.code("standalone: a write is not retried", 91, failed) {
        checks.is(
            "standalone: no label",
            error.contains_label("RetryableWriteError"),
            false,
        );
    }
    let numbered = doc! { "insert": "retries", "documents": [{ "_id": 3 }], "txnNumber": 1_i64 };
    let refused = context.db.run_command(numbered).await;
    checks.code("standalone: a transaction number is rejected", 20, refused);
    Ok(())
}

async fn writes(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("retries");
    for (id, name, data) in [
        (
            1,
            "a retryable code",
            doc! { "failCommands": ["insert"], "errorCode": 10_107 },
        ),
        (
            2,
            "a closed connection",
            doc! { "failCommands": ["insert"], "closeConnection": true },
        ),
    ] {
        fail(context, 1, data).await?;
        context.commands.clear();
        checks.eq(
            &format!("retryable write: {name}"),
            c.insert_one(doc! { "_id": id })
                .await
                .map(|result| result.inserted_id),
            Bson::Int32(id),
        );
        let sent = context.commands.sent("insert");
        checks.is(&format!("retryable write: {name}: attempts"), sent.len(), 2);
        let number = |index: usize| {
            sent.get(index)
                .and_then(|sent| sent.command.get_i64("txnNumber").ok())
        };
        checks.is(
            &format!("retryable write: {name}: one transaction number"),
            number(0).is_some() && number(0) == number(1),
            true,
        );
    }
    fail(context, 2, doc! { "failCommands": ["update"], "errorCode": 91 }).await?;
    let failed = c.update_one(doc! { "_id": 0 }, doc! { "$inc": { "n": 1 } }).await;
    if let Some(error) = checks.code("retryable write: only once more", 91, failed) {
        checks.is(
            "retryable write: label",
            error.contains_label("RetryableWriteError"),
            true,
        );
    }
    off(context, "failCommand").await?;
    fail(context, 1, doc! { "failCommands": ["update"], "errorCode": 91 }).await?;
    context.commands.clear();
    let failed = c.update_many(doc! {}, doc! { "$set": { "m": 1 } }).await;
    checks.code("update_many is not retried", 91, failed);
    checks.is(
        "update_many is not retried: attempts",
        context.commands.sent("update").len(),
        1,
    );
    off(context, "failCommand").await
}

/// A write is not executed again if its reply was lost.
async fn applied_once(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("retries");
    let lose_reply =
        doc! { "configureFailPoint": "onPrimaryTransactionalWrite", "mode": { "times": 1 }, "data": {} };
    context.admin(lose_reply.clone()).await?;
    context.commands.clear();
    let updated = c.update_one(doc! { "_id": 0 }, doc! { "$inc": { "n": 1 } }).await;
    checks.eq(
        "lost reply: update",
        updated.map(|r| (r.matched_count, r.modified_count)),
        (1, 1),
    );
    checks.is(
        "lost reply: update: attempts",
        context.commands.sent("update").len(),
        2,
    );
    checks.eq(
        "lost reply: update: done once",
        field(c.find_one(doc! { "_id": 0 }).await, "n"),
        Some(Bson::Int32(1)),
    );
    context.admin(lose_reply.clone()).await?;
    checks.eq(
        "lost reply: insert",
        c.insert_one(doc! { "_id": 9 })
            .await
            .map(|result| result.inserted_id),
        Bson::Int32(9),
    );
    context.admin(lose_reply.clone()).await?;
    checks.eq(
        "lost reply: find_one_and_update returns the first reply",
        c.find_one_and_update(doc! { "_id": 0 }, doc! { "$inc": { "n": 1 } })
            .projection(doc! { "n": 1 })
            .await,
        Some(doc! { "_id": 0, "n": 1 }),
    );
    checks.eq(
        "lost reply: find_one_and_update: done once",
        field(c.find_one(doc! { "_id": 0 }).await, "n"),
        Some(Bson::Int32(2)),
    );
    context.admin(lose_reply).await?;
    checks.eq(
        "lost reply: delete",
        c.delete_one(doc! { "_id": 9 }).await.map(|r| r.deleted_count),
        1,
    );
    off(context, "onPrimaryTransactionalWrite").await
}

async fn concerns(checks: &mut Checks, context: &Context) -> Result<()> {
    let with = |w: Acknowledgment| {
        let options = CollectionOptions::builder()
            .write_concern(WriteConcern::builder().w(w).build())
            .build();
        context
            .db
            .collection_with_options::<Document>("concerns", options)
    };
    let majority = with(Acknowledgment::Majority).insert_one(doc! { "_id": 1 }).await;
    checks.eq("write concern: majority", majority.map(|_| ()), ());
    let too_many = with(Acknowledgment::Nodes(5)).insert_one(doc! { "_id": 3 }).await;
    if context.replica_set {
        if let Some(error) = checks.code("write concern: more than there are", 100, too_many) {
            let concern = matches!(&*error.kind, ErrorKind::Write(WriteFailure::WriteConcernError(_)));
            checks.is("write concern: more than there are: kind", concern, true);
        }
        checks.eq(
            "write concern: written all the same",
            context
                .collection("concerns")
                .count_documents(doc! { "_id": 3 })
                .await,
            1,
        );
    } else {
        checks.code("write concern: 5 of one", 2, too_many);
    }
    let failure = doc! {
        "failCommands": ["insert"],
        "writeConcernError": { "code": 64, "codeName": "WriteConcernTimeout", "errmsg": "late", "errInfo": { "wtimeout": true } },
    };
    fail(context, 1, failure).await?;
    let late = context.collection("concerns").insert_one(doc! { "_id": 4 }).await;
    checks.is(
        "write concern: error",
        late.err().and_then(|error| code_of(&error)),
        Some(64),
    );
    off(context, "failCommand").await
}
