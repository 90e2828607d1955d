//! Network partitions: all members are running, but some connections are interrupted.

use marula_driver::{
    Collection,
    bson::{Document, doc},
    options::{ReadPreference, ReadPreferenceMode},
};

use super::load::{Failover, run};

fn set_partitioned(failover: &Failover, member: usize, partitioned: bool) {
    failover.deployment.proxies[member].set_partitioned(partitioned);
}

/// The members elect no other primary, so writes fail, and reads from secondaries succeed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reads_from_secondaries_succeed_without_a_primary() {
    run(async |failover| {
        let primary = failover.deployment.primary();
        set_partitioned(failover, primary, true);
        // Only timeouts of heartbeats show that the primary is unreachable.
        failover.wait_for_primary(None).await;
        let counters: Collection<Document> = failover.client.database("faults").collection("counters");
        let any = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
        let reads = counters.with_read_preference(any);
        for task in 0..20 {
            let found = reads
                .find_one(doc! { "_id": task })
                .await
                .expect("a read from a secondary");
            assert!(found.is_some());
        }
        set_partitioned(failover, primary, false);
        failover.wait_for_primary(Some(primary)).await;
        failover.wait_for_all_tasks().await;
    })
    .await;
}

/// Two members report that they are primary. The client uses the one with the later election.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stale_primary_is_not_used() {
    run(async |failover| {
        let old = failover.deployment.primary();
        failover.deployment.server.isolate_member(old);
        let new = failover.deployment.primary();
        assert_ne!(old, new);
        failover.wait_for_primary(Some(new)).await;
        failover.wait_for_all_tasks().await;
        // The old primary still reports that it is primary, and is ignored.
        failover.deployment.proxies[old].close_all();
        failover.wait_for_all_tasks().await;
        let primary = failover.primary.borrow().as_ref().map(ToString::to_string);
        assert_eq!(
            primary,
            Some(failover.deployment.proxies[new].address().to_string())
        );
        failover.deployment.server.rejoin_member(old);
        failover.wait_for_all_tasks().await;
    })
    .await;
}

/// The primary accepts connections and keeps the existing ones, but answers neither the other
/// members nor clients.
async fn hanging_primary(failover: &mut Failover) {
    let old = failover.deployment.primary();
    set_partitioned(failover, old, true);
    failover.deployment.server.isolate_member(old);
    let new = failover.deployment.primary();
    failover.wait_for_primary(Some(new)).await;
    // Operations on the old primary are interrupted when its check fails, and are retried.
    failover.wait_for_all_tasks().await;
    set_partitioned(failover, old, false);
    failover.deployment.server.rejoin_member(old);
    failover.wait_for_all_tasks().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_are_exactly_once_when_the_primary_hangs() {
    run(hanging_primary).await;
}

#[tokio::test]
async fn writes_are_exactly_once_when_the_primary_hangs_on_one_thread() {
    run(hanging_primary).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_succeed_when_a_secondary_hangs() {
    run(async |failover| {
        let secondary = failover.deployment.secondary();
        set_partitioned(failover, secondary, true);
        failover.wait_for_all_tasks().await;
        set_partitioned(failover, secondary, false);
        failover.wait_for_all_tasks().await;
    })
    .await;
}

/// The client reaches no member of a healthy replica set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_rediscovers_all_members_after_a_partition() {
    run(async |failover| {
        for member in 0..3 {
            set_partitioned(failover, member, true);
        }
        failover.wait_for_primary(None).await;
        for member in 0..3 {
            set_partitioned(failover, member, false);
        }
        failover.wait_for_all_tasks().await;
    })
    .await;
}
