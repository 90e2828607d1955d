//! The writes that tasks know to be acknowledged, compared with the stored documents.

use std::collections::BTreeSet;

use marula_driver::{
    Client, Collection,
    bson::{Bson, Document, doc},
};

/// How many documents never change.
pub(crate) const FIXED: i32 = 10;

/// What a task knows of its own writes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Numbers whose push was acknowledged.
    pub(crate) pushed: Vec<i32>,
    /// Ids whose insertion was acknowledged, and which no task tried to delete.
    pub(crate) inserted: Vec<String>,
    /// Ids whose deletion was acknowledged.
    pub(crate) deleted: Vec<String>,
    /// Operations that failed.
    pub(crate) errors: usize,
    /// Operations that did not.
    pub(crate) successes: usize,
}

/// What all know together, in words.
pub(crate) fn sum(ledgers: &[Ledger]) -> String {
    let of = |count: fn(&Ledger) -> usize| ledgers.iter().map(count).sum::<usize>();
    format!(
        "{} operations succeeded and {} failed, {} writes were acknowledged",
        of(|ledger| ledger.successes),
        of(|ledger| ledger.errors),
        of(|ledger| ledger.pushed.len() + ledger.inserted.len() + ledger.deleted.len()),
    )
}

/// What a task pushed so far.
pub(crate) fn numbers(counter: &Document) -> Vec<i32> {
    let numbers = counter.get_array("numbers").expect("an array");
    numbers
        .iter()
        .map(|number| number.as_i32().expect("a number"))
        .collect()
}

/// A counter for each task, and what never changes.
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

/// Everything acknowledged is there once; what failed is there once or not at all.
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
                "the insertion of {id} was acknowledged and it is not stored"
            );
        }
        for id in &ledger.deleted {
            assert!(
                !stored_ids.contains(id.as_str()),
                "the deletion of {id} was acknowledged and it is still stored"
            );
        }
    }
}
