//! Counts and durations of typed calls.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use marula::prelude::*;

use crate::models::{account, accounts};
use crate::recorded_metrics::Recorded;

#[tokio::test]
async fn calls_are_counted_by_model_operation_and_outcome() {
    let (server, client, accounts) = accounts().await;
    let recorded = Recorded::default();
    let guard = metrics::set_default_local_recorder(&recorded);
    accounts.insert_one(&account(1)).await.unwrap();
    accounts.insert_one(&account(1)).await.unwrap_err();
    accounts.insert_one(&account(2)).await.unwrap();
    assert_eq!(accounts.find_all().await.unwrap().len(), 2);
    assert!(accounts.find_by_id(1).await.unwrap().is_some());
    accounts.find_by_id(9).required().await.unwrap_err();
    accounts.delete_by_id(2).await.unwrap();
    // Not awaited: nothing is sent.
    drop(accounts.exists(|a| a._id().eq(1)));
    let mut dropped = pin!(accounts.count(|a| a._id().gt(0)).into_future());
    poll_fn(|context| {
        assert!(dropped.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    let running = recorded.all();
    assert!(
        !running.iter().any(|line| line.contains("operation=count")),
        "{running:?}"
    );
    // The future is replaced, and so dropped, while its command runs.
    dropped.set(accounts.count(|a| a._id().gt(0)).into_future());
    assert_eq!(
        recorded.all(),
        [
            "marula_call_duration_seconds model=Account operation=count: 1",
            "marula_call_duration_seconds model=Account operation=delete_one: 1",
            "marula_call_duration_seconds model=Account operation=find: 1",
            "marula_call_duration_seconds model=Account operation=find_one: 2",
            "marula_call_duration_seconds model=Account operation=insert_one: 3",
            "marula_calls_total model=Account operation=count outcome=dropped: 1",
            "marula_calls_total model=Account operation=delete_one outcome=ok: 1",
            "marula_calls_total model=Account operation=find outcome=ok: 1",
            "marula_calls_total model=Account operation=find_one outcome=ok: 2",
            "marula_calls_total model=Account operation=insert_one outcome=duplicate: 1",
            "marula_calls_total model=Account operation=insert_one outcome=ok: 2",
        ]
    );
    drop(guard);
    client.shutdown().await;
    drop(server);
}
