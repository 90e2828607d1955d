//! The acknowledged writes of each task, compared with the stored documents.

use std::collections::BTreeSet;

use marula_driver::{
    Client, Collection,
    bson::{Bson, Document, doc},
};

/// The number of documents that no task changes.
pub(crate) const FIXED: i32 = 10;

/// The writes of one task.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The numbers whose `$push` was acknowledged.
    pub(crate) pushed: Vec<i32>,
    /// The `_id`s whose insert was acknowledged, and which the task has not tried to delete.
    pub(crate) inserted: Vec<String>,
    /// The `_id`s whose delete was acknowledged.
    pub(crate) deleted: Vec<String>,
    /// The number of failed operations.
    pub(crate) errors: usize,
    /// The number of successful operations.
    pub(crate) successes: usize,
}

/// A summary of all ledgers.
pub(crate) fn sum(ledgers: &[Ledger]) -> String {
    let of = |count: fn(&Ledger) -> usize| ledgers.iter().map(count).sum::<usize>();
    format!(
        "{} operations succeeded and {} failed, {} writes were acknowledged",
        of(|ledger| ledger.successes),
        of(|ledger| ledger.errors),
        of(|ledger| ledger.pushed.len() + ledger.inserted.len() + ledger.deleted.len()),
    )
}

/// The numbers that the task has pushed so far.
pub(crate) fn numbers(counter: &Document) -> Vec<i32> {
    let numbers = counter.get_array("numbers").expect("an array");
    numbers
        .iter()
        .map(|number| number.as_i32().expect("a number"))
        .collect()
}

/// Inserts a counter for each task, and the documents that no task changes.
pub(crate) async fn prepare(direct: &Client, tasks: i32) {
    let database = direct.database("faults");
    let counters: Vec<Document> = (0..tasks)
        .map(|task| doc! { "_id": task, "numbers": Bson::Array(Vec::new()) })
        .collect();
    database
        .collection("counters")
        .insert_many(&counters)
        .await
        .expect("stored");
    let fixed: Vec<Document> = (0..FIXED).map(|id| doc! { "_id": id }).collect();
    database
        .collection("fixed")
        .insert_many(&fixed)
        .await
        .expect("stored");
}

/// Checks that each acknowledged write was executed exactly once, and each failed one at most once.
pub(crate) async fn compare(direct: &Client, ledgers: &[Ledger]) {
    let database = direct.database("faults");
    let counters: Collection<Document> = database.collection("counters");
    let inserts: Collection<Document> = database.collection("inserts");
    let all = inserts.find(doc! {}).await.expect("a cursor");
    let all = all.try_collect().await.expect("all documents");
    let stored_ids: BTreeSet<&str> = all
        .iter()
        .map(|document| document.get_str("_id").expect("an id"))
        .collect();
    for (task, ledger) in ledgers.iter().enumerate() {
        let counter = counters
            .find_one(doc! { "_id": task as i32 })
            .await
            .expect("a reply")
            .expect("a counter");
        let stored = numbers(&counter);
        let mut once = stored.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(
            once.len(),
            stored.len(),
            "task {task}: a write was executed twice: {stored:?}"
        );
        for number in &ledger.pushed {
            assert!(
                stored.contains(number),
                "task {task}: {number} was acknowledged and is not stored"
            );
        }
        for id in &ledger.inserted {
            assert!(
                stored_ids.contains(id.as_str()),
                "the insert of {id} was acknowledged and it is not stored"
            );
        }
        for id in &ledger.deleted {
            assert!(
                !stored_ids.contains(id.as_str()),
                "the delete of {id} was acknowledged and it is still stored"
            );
        }
    }
}
