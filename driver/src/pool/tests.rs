//! Tests of the pool against a scripted server. They wait for events, never for time.

mod draining;
mod events;
mod failure;
mod server;
mod waiting;

use std::{
    sync::{Mutex, Weak},
    time::Duration,
};

use super::*;
use crate::{
    proto::{cmap::Counts, handshake::client_metadata},
    types::deadline::Deadline,
};
use server::Server;

/// Records the notifications of a pool, and clears the pool if configured to, as the topology does.
#[derive(Default)]
struct Listener {
    received: Mutex<Vec<(u64, Error)>>,
    clears: Mutex<Weak<Pool>>,
}

impl PoolListener for Listener {
    fn handshake_failed(&self, _: &ServerAddress, key: ConnectionKey, error: &Error) {
        self.received
            .lock()
            .unwrap()
            .push((key.generation, error.clone()));
        if let Some(pool) = self.clears.lock().unwrap().upgrade() {
            pool.clear(error, None, false);
        }
    }
}

const SETTINGS: PoolSettings = PoolSettings {
    max_pool_size: 100,
    min_pool_size: 0,
    max_connecting: 2,
    max_idle_time: None,
    wait_queue_timeout: None,
    maintenance_interval: Some(Duration::from_secs(10)),
    listener: None,
    in_flight: None,
};

fn paused_pool(server: &Server, settings: PoolSettings, listener: &Arc<Listener>) -> Arc<Pool> {
    let connection = ConnectionSettings::new(Duration::ZERO, client_metadata(None).unwrap());
    let listener: Weak<Listener> = Arc::downgrade(listener);
    Pool::new(server.address.clone(), settings, connection, listener)
}

fn ready_pool(server: &Server, settings: PoolSettings) -> Arc<Pool> {
    let pool = paused_pool(server, settings, &Arc::default());
    pool.ready();
    pool
}

fn counts(pool: &Pool) -> Counts {
    pool.counts()
}

/// Lets other tasks run until the pool looks as it should.
async fn until(pool: &Pool, mut condition: impl FnMut(Counts) -> bool) {
    while !condition(counts(pool)) {
        tokio::task::yield_now().await;
    }
}

async fn check_out(pool: &Arc<Pool>) -> Result<PooledConnection> {
    pool.check_out(None).await
}

/// A check-out in a task of its own, which is in the queue when this returns.
async fn queued(pool: &Arc<Pool>) -> tokio::task::JoinHandle<Result<PooledConnection>> {
    let before = counts(pool).waiting;
    let own = Arc::clone(pool);
    let task = tokio::spawn(async move { check_out(&own).await });
    until(pool, |counts| counts.waiting > before).await;
    task
}

#[tokio::test]
async fn a_connection_given_back_is_used_again() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    assert!(pool.try_check_out(Instant::now()).is_none(), "there is none yet");
    let mut connection = check_out(&pool).await.unwrap();
    connection.run_hello(Deadline::NEVER).await.unwrap();
    assert_eq!((connection.key.id, connection.generation()), (1, 0));
    drop(connection);
    assert_eq!(pool.try_check_out(Instant::now()).unwrap().key.id, 1);
    assert_eq!(check_out(&pool).await.unwrap().key.id, 1);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn connections_are_numbered_from_one() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    let mut held = Vec::new();
    for id in 1..=3 {
        held.push(check_out(&pool).await.unwrap());
        assert_eq!(held.last().unwrap().key.id, id);
    }
    assert_eq!(
        counts(&pool),
        Counts {
            total: 3,
            available: 0,
            pending: 0,
            draining: 0,
            waiting: 0
        }
    );
}

#[tokio::test]
async fn a_paused_pool_refuses_and_names_the_cause() {
    let server = Server::start().await;
    let pool = paused_pool(&server, SETTINGS, &Arc::default());
    let refusal = |result: Result<PooledConnection>| match result.unwrap_err().kind() {
        ErrorKind::Pool(PoolError::Cleared { cause, .. }) => cause.as_ref().map(ToString::to_string),
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(check_out(&pool).await), None);
    pool.ready();
    drop(check_out(&pool).await.unwrap());
    pool.clear(&Error::protocol("nonsense"), None, false);
    assert!(pool.try_check_out(Instant::now()).is_none());
    assert!(refusal(check_out(&pool).await).unwrap().contains("nonsense"));
    assert_eq!(pool.generation(None), 1);
    // The idle connection goes in the background.
    server.open(0).await;
    pool.ready();
    assert_eq!(check_out(&pool).await.unwrap().generation(), 1);
}

#[tokio::test]
async fn min_pool_size_is_kept_in_the_background() {
    let server = Server::start().await;
    let settings = PoolSettings {
        min_pool_size: 3,
        ..SETTINGS
    };
    let pool = paused_pool(&server, settings, &Arc::default());
    assert_eq!(server.accepted(), 0);
    pool.ready();
    server.open(3).await;
    until(&pool, |counts| counts.available == 3).await;
    // One that breaks is replaced.
    let mut broken = check_out(&pool).await.unwrap();
    broken.fail(Error::protocol("nonsense"));
    drop(broken);
    until(&pool, |counts| counts.available == 3).await;
    assert_eq!(server.accepted(), 4);
    server.open(3).await;
    assert!(server.most_handshaking() <= 2);
    // So are those of an older generation.
    pool.clear(&Error::protocol("nonsense"), None, false);
    server.open(0).await;
    pool.ready();
    server.open(3).await;
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_not_used_again() {
    let server = Server::start().await;
    let limit = Duration::from_nanos(1);
    let pool = ready_pool(
        &server,
        PoolSettings {
            max_idle_time: Some(limit),
            ..SETTINGS
        },
    );
    let returned = check_out(&pool).await.unwrap();
    drop(returned);
    let idle_since = Instant::now();
    while idle_since.elapsed() <= limit {}
    assert!(pool.try_check_out(Instant::now()).is_none());
    server.open(0).await;
    assert_eq!(check_out(&pool).await.unwrap().key.id, 2);
}

#[tokio::test]
async fn closing_refuses_requests_and_closes_connections_as_they_come_back() {
    let server = Server::start().await;
    let pool = ready_pool(
        &server,
        PoolSettings {
            max_pool_size: 2,
            ..SETTINGS
        },
    );
    let mut in_use = check_out(&pool).await.unwrap();
    let other = check_out(&pool).await.unwrap();
    let waiting = queued(&pool).await;
    pool.close();
    drop(other);
    let closed = |result: Result<PooledConnection>| {
        matches!(
            result.unwrap_err().kind(),
            ErrorKind::Pool(PoolError::Closed { .. })
        )
    };
    assert!(closed(waiting.await.unwrap()));
    assert!(closed(check_out(&pool).await));
    assert!(pool.try_check_out(Instant::now()).is_none());
    server.open(1).await;
    in_use.run_hello(Deadline::NEVER).await.unwrap();
    drop(in_use);
    server.open(0).await;
    pool.ready();
    assert!(closed(check_out(&pool).await), "a closed pool stays closed");
    assert_eq!(counts(&pool).total, 0);
}

#[tokio::test]
async fn background_work_ends_with_the_pool() {
    let server = Server::start().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for close in [true, false] {
        let before = tasks();
        let pool = ready_pool(&server, SETTINGS);
        assert_eq!(tasks(), before + 1);
        if close {
            pool.close();
        }
        let weak = Arc::downgrade(&pool);
        drop(pool);
        while tasks() > before {
            tokio::task::yield_now().await;
        }
        assert!(weak.upgrade().is_none());
    }
}

#[tokio::test]
async fn a_connection_in_use_keeps_its_pool() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    let weak = Arc::downgrade(&pool);
    let mut connection = check_out(&pool).await.unwrap();
    drop(pool);
    connection.run_hello(Deadline::NEVER).await.unwrap();
    drop(connection);
    assert!(weak.upgrade().is_none());
    server.open(0).await;
}
