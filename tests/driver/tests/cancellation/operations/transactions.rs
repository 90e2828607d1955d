//! Dropping the futures of transactions.

use marula_driver::{
    Client, Error, Result, TransactionState,
    bson::{Document, doc},
};
use marula_driver_tests::polling::{Held, poll_times};

use super::harness::{Case, Harness, PIECES, Round};

/// Writes to the documents of all transactions: waits for locks that a transaction has left.
async fn nothing_is_locked(client: Client) {
    let names = client.list_database_names().await.expect("names");
    let last = names
        .iter()
        .filter_map(|name| name.strip_prefix("round_")?.parse::<i32>().ok())
        .max();
    let things = client
        .database(&format!("round_{}", last.expect("a round")))
        .collection::<Document>("things");
    let set = things.update_many(doc! {}, doc! { "$inc": { "after": 1 } });
    set.await.expect("no transaction is in progress");
}

/// Checks that all writes of the transaction are visible, or none.
async fn is_atomic(client: Client) {
    nothing_is_locked(client.clone()).await;
    for name in client.list_database_names().await.expect("names") {
        if name.starts_with("round_") {
            let things = client.database(&name).collection::<Document>("things");
            let inserted = things
                .count_documents(doc! { "_id": 100 })
                .await
                .expect("a count");
            let updated = things.count_documents(doc! { "x": 1 }).await.expect("a count");
            assert_eq!(inserted, updated, "half a transaction in {name}");
        }
    }
}

async fn run(round: Round) -> Result<()> {
    let client = round.database.client().clone();
    let things = &round.things;
    let run = client.transaction().run(async move |tx| {
        things.insert_one(&doc! { "_id": 100 }).session(&mut *tx).await?;
        let set = doc! { "$set": { "x": 1 } };
        things
            .update_one(doc! { "_id": 1 }, set)
            .session(tx)
            .await
            .map(drop)
    });
    run.await
}

#[tokio::test]
async fn a_transaction_of_the_convenient_api_can_be_dropped_at_every_poll() {
    let harness = Harness::replica_set().await;
    for command in ["insert", "update", "commitTransaction"] {
        harness
            .drop_at_every_poll(Case::new(command, run).checked(is_atomic))
            .await;
    }
    assert!(
        harness.server.commands_seen("abortTransaction") > 10,
        "dropped ones are aborted"
    );
}

#[tokio::test]
async fn commit_and_abort_can_be_dropped_at_every_poll() {
    let harness = Harness::replica_set().await;
    let begin = async |round: &Round| {
        let mut tx = round.database.client().start_transaction().await?;
        round
            .things
            .insert_one(&doc! { "_id": 100 })
            .session(&mut tx)
            .await?;
        let set = doc! { "$set": { "x": 1 } };
        round
            .things
            .update_one(doc! { "_id": 1 }, set)
            .session(&mut tx)
            .await?;
        Ok::<_, Error>(tx)
    };
    let commit = Case::new("commitTransaction", move |round| async move {
        begin(&round).await?.commit().await
    });
    harness.drop_at_every_poll(commit.checked(is_atomic)).await;
    let abort = Case::new("abortTransaction", move |round| async move {
        begin(&round).await?.abort().await
    });
    harness.drop_at_every_poll(abort.checked(is_atomic)).await;
}

#[tokio::test]
async fn a_commit_whose_future_was_dropped_can_be_repeated() {
    let harness = Harness::replica_set().await;
    for polls in 0.. {
        let round = harness.next_round().await;
        let mut tx = harness.client.start_transaction().await.expect("started");
        let document = doc! { "_id": 100 };
        let insert = round.things.insert_one(&document).session(&mut tx);
        insert.await.expect("stored");
        harness.hold("commitTransaction");
        let commit = tx.commit().into_future();
        let outcome = poll_times(commit, polls, &harness.proxy, Held::OfTheFuture).await;
        let is_done = outcome.is_some();
        harness.pass_everything();
        match outcome {
            Some(outcome) => outcome.expect("committed"),
            None => tx.commit().await.expect("committed"),
        }
        assert_eq!(tx.transaction_state(), TransactionState::Committed);
        let stored = round.things.count_documents(doc! { "_id": 100 }).await;
        assert_eq!(stored.expect("a count"), 1, "after {polls} polls");
        harness.settle().await;
        if is_done {
            assert!(polls > PIECES, "{polls}");
            return;
        }
    }
}
