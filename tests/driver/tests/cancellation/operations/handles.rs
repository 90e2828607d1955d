//! Dropping the futures of `warm_up` and of `shutdown` with a deadline.

use marula_driver::{Client, bson::doc, options::ClientOptions};
use marula_driver_tests::{
    Counts, PoolTally,
    polling::{Held, poll_times, run_for_pieces},
    proxy::Action,
};

use super::harness::{self, ENDS, Harness, PIECES, TIME_LIMIT};

fn tallied(harness: &Harness) -> (Client, PoolTally) {
    let mut options = ClientOptions::parse(&harness.proxy.uri("maxPoolSize=2")).expect("options");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    (Client::with_options(options).expect("a client"), tally)
}

/// Checks that the client works, shuts it down, and waits until its connections are closed.
async fn end(harness: &Harness, client: Client, tally: PoolTally) {
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    let rest = client.shutdown().deadline(TIME_LIMIT).await;
    assert!(rest.is_empty(), "{rest:?}");
    tally.wait_until(Counts::is_at_rest).await;
    tally.assert_nothing_left();
    let closed = harness
        .server
        .wait_for_open_connections(harness::OF_DIRECT + harness::OF_CLIENT);
    tokio::time::timeout(TIME_LIMIT, closed)
        .await
        .expect("all connections are closed");
}

#[tokio::test]
async fn warm_up_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    for polls in 0.. {
        harness.proxy.set_rule(|_| Action::Stepwise(ENDS.to_vec()));
        let (client, tally) = tallied(&harness);
        let warm_up = client.warm_up().connections(2).into_future();
        let outcome = poll_times(warm_up, polls, &harness.proxy, Held::OfOthersToo).await;
        let is_done = outcome.is_some();
        if let Some(outcome) = outcome {
            outcome.expect("connections");
        }
        harness.pass_everything();
        client.warm_up().connections(2).await.expect("connections");
        assert_eq!(
            tally.counts().created,
            2,
            "after {polls} polls: {:?}",
            tally.counts()
        );
        end(&harness, client, tally).await;
        if is_done {
            assert!(polls > 1, "{polls}");
            return;
        }
    }
}

#[tokio::test]
async fn a_shutdown_with_a_deadline_can_be_dropped_after_every_piece() {
    let harness = Harness::start().await;
    for pieces in 0.. {
        let round = harness.next_round().await;
        let (client, tally) = tallied(&harness);
        let things = client
            .database(round.database.name())
            .collection::<marula_driver::bson::Document>("things");
        let cursor = things.find(doc! {}).batch_size(2).await.expect("a cursor");
        harness.proxy.set_rule(|exchange| match exchange.command {
            "killCursors" | "endSessions" => Action::Stepwise(ENDS.to_vec()),
            _ => Action::Pass,
        });
        drop(cursor);
        let shutdown = client.shutdown().deadline(TIME_LIMIT).into_future();
        let outcome = run_for_pieces(shutdown, pieces, &harness.proxy).await;
        harness.pass_everything();
        match outcome {
            None => end(&harness, client, tally).await,
            Some(rest) => {
                assert!(rest.is_empty(), "{rest:?}");
                assert!(pieces > PIECES, "{pieces}");
                tally.wait_until(Counts::is_at_rest).await;
                tally.assert_nothing_left();
                return;
            }
        }
    }
}
