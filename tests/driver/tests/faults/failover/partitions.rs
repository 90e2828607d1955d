//! Network partitions: all members run, but not all reach each other.

use marula_driver::{
    Collection,
    bson::{Document, doc},
    options::{ReadPreference, ReadPreferenceMode},
};

use super::load::{Day, survive};

fn set_partitioned(day: &Day, member: usize, partitioned: bool) {
    day.deployment.proxies[member].set_partitioned(partitioned);
}

/// The members do not elect another primary, so writes fail; reads from secondaries succeed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_that_loses_the_primary_reads_on() {
    survive(async |day| {
        let primary = day.deployment.primary();
        set_partitioned(day, primary, true);
        // Only heartbeats that time out show that the primary cannot be reached.
        day.finds_primary(None).await;
        let counters: Collection<Document> = day.client.database("faults").collection("counters");
        let any = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
        let reads = counters.with_read_preference(any);
        for task in 0..20 {
            let found = reads
                .find_one(doc! { "_id": task })
                .await
                .expect("a secondary answers");
            assert!(found.is_some());
        }
        set_partitioned(day, primary, false);
        day.finds_primary(Some(primary)).await;
        day.goes_on().await;
    })
    .await;
}

/// Two members say that they are primary; the one of the newer election is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_isolated_primary_is_not_listened_to() {
    survive(async |day| {
        let old = day.deployment.primary();
        day.deployment.server.isolate_member(old);
        let new = day.deployment.primary();
        assert_ne!(old, new);
        day.finds_primary(Some(new)).await;
        day.goes_on().await;
        // The old primary still claims to be primary, and is ignored.
        day.deployment.proxies[old].close_all();
        day.goes_on().await;
        let primary = day.primary.borrow().as_ref().map(ToString::to_string);
        assert_eq!(primary, Some(day.deployment.proxies[new].address().to_string()));
        day.deployment.server.rejoin_member(old);
        day.goes_on().await;
    })
    .await;
}

/// It accepts connections and keeps those there are, and never answers: neither the others nor clients.
async fn hanging_primary(day: &mut Day) {
    let old = day.deployment.primary();
    set_partitioned(day, old, true);
    day.deployment.server.isolate_member(old);
    let new = day.deployment.primary();
    day.finds_primary(Some(new)).await;
    // What waited for the old one is interrupted when its check fails, and sent again.
    day.goes_on().await;
    set_partitioned(day, old, false);
    day.deployment.server.rejoin_member(old);
    day.goes_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hanging_primary_is_survived() {
    survive(hanging_primary).await;
}

#[tokio::test]
async fn a_hanging_primary_is_survived_on_one_thread() {
    survive(hanging_primary).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_secondary_is_survived() {
    survive(async |day| {
        let secondary = day.deployment.secondary();
        set_partitioned(day, secondary, true);
        day.goes_on().await;
        set_partitioned(day, secondary, false);
        day.goes_on().await;
    })
    .await;
}

/// The client reaches no member; the set is healthy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_loses_everybody_finds_them_again() {
    survive(async |day| {
        for member in 0..3 {
            set_partitioned(day, member, true);
        }
        day.finds_primary(None).await;
        for member in 0..3 {
            set_partitioned(day, member, false);
        }
        day.goes_on().await;
    })
    .await;
}
