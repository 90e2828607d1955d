//! Servers that fail, pools that are cleared, runtimes that end.

use super::*;
use crate::{
    NetworkPhase,
    connection::{DnsLookup, Lookup},
};

#[tokio::test]
async fn clearing_fails_those_who_wait_and_closes_what_comes_back() {
    let server = Server::start().await;
    let pool = ready_pool(
        &server,
        PoolSettings {
            max_pool_size: 1,
            ..SETTINGS
        },
    );
    let mut held = check_out(&pool).await.unwrap();
    let waiting = [queued(&pool).await, queued(&pool).await];
    pool.clear(&Error::protocol("nonsense"), None, false);
    for task in waiting {
        let error = task.await.unwrap().unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Pool(PoolError::Cleared { cause: Some(_), .. })
            ),
            "{error}"
        );
        assert!(!error.to_string().contains("nonsense"), "{error}");
        assert!(format!("{error:#}").contains("nonsense"), "{error:#}");
    }
    // What is in use stays usable.
    held.run_hello(Deadline::NEVER).await.unwrap();
    pool.ready();
    drop(held);
    server.open(0).await;
    let next = check_out(&pool).await.unwrap();
    assert_eq!((next.key.id, next.generation()), (2, 1));
}

#[tokio::test]
async fn clearing_gives_up_establishments_under_way() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    let waiting = queued(&pool).await;
    server.handshaking(1).await;
    pool.clear(&Error::protocol("nonsense"), None, false);
    assert!(waiting.await.unwrap().is_err());
    server.open(0).await;
    until(&pool, |counts| counts.total == 0).await;
    pool.ready();
    server.answer_handshakes(1);
    assert_eq!(check_out(&pool).await.unwrap().generation(), 1);
}

/// Connection Monitoring and Pooling, "Clearing a load balanced pool": the pool stays ready and the
/// wait queue stays.
#[tokio::test]
async fn clearing_a_service_gives_up_no_establishment() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    for round in 1..=3 {
        let waiting = queued(&pool).await;
        server.handshaking(1).await;
        pool.clear(
            &Error::protocol("nonsense"),
            Some(ObjectId::from_bytes([round; 12])),
            round == 2,
        );
        server.answer_handshakes(1);
        let connection = waiting.await.unwrap().unwrap();
        assert_eq!(connection.generation(), 0);
        // The next round needs a new connection.
        drop(connection);
        server.kick_all().await;
        while pool.try_check_out(Instant::now()).is_some() {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(counts(&pool).pending, 0);
}

/// Wakes that concern others do not end an establishment either.
#[tokio::test]
async fn an_establishment_goes_on_until_it_is_given_up() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    let waiting = queued(&pool).await;
    server.handshaking(1).await;
    for _ in 0..3 {
        pool.unwanted.notify_waiters();
        tokio::task::yield_now().await;
    }
    server.answer_handshakes(1);
    waiting.await.unwrap().unwrap();
}

/// A lookup that panics, once.
#[derive(Debug, Default)]
struct PanickingLookup(std::sync::atomic::AtomicBool);

impl DnsLookup for PanickingLookup {
    fn srv<'a>(&'a self, _: &'a str) -> Lookup<'a, crate::proto::srv::SrvRecord> {
        unreachable!("no SRV record is needed")
    }

    fn txt<'a>(&'a self, _: &'a str) -> Lookup<'a, crate::proto::srv::TxtRecord> {
        unreachable!("no TXT record is needed")
    }

    fn addresses<'a>(&'a self, _: &'a str) -> Lookup<'a, std::net::IpAddr> {
        let again = self.0.swap(true, std::sync::atomic::Ordering::SeqCst);
        assert!(again, "this panic is part of the test");
        Box::pin(async { Ok(vec![std::net::IpAddr::from([127, 0, 0, 1])]) })
    }
}

#[tokio::test]
async fn an_establishment_that_panics_fails_one_request_and_the_pool_stays_open() {
    let server = Server::start().await;
    let address = ServerAddress::tcp("db.test", server.address.port().unwrap());
    let mut connection = ConnectionSettings::new(Duration::ZERO, client_metadata(None).unwrap());
    connection.dns = Arc::new(PanickingLookup::default());
    let listener: Weak<Listener> = Weak::new();
    let pool = Pool::new(address, SETTINGS, connection, listener);
    pool.ready();
    let error = check_out(&pool).await.unwrap_err();
    assert!(
        error.is_network() && error.to_string().contains("panicked"),
        "{error}"
    );
    check_out(&pool).await.unwrap();
    assert_eq!(counts(&pool).pending, 0);
}

#[tokio::test]
async fn closing_gives_up_establishments_under_way() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    let waiting = queued(&pool).await;
    server.handshaking(1).await;
    pool.close();
    assert!(waiting.await.unwrap().is_err());
    server.open(0).await;
    until(&pool, |counts| counts.total == 0).await;
}

#[tokio::test]
async fn a_failed_handshake_reaches_the_request_and_the_listener() {
    let server = Server::start().await;
    server.hang_up();
    let listener = Arc::new(Listener::default());
    let pool = paused_pool(&server, SETTINGS, &listener);
    pool.ready();
    let error = check_out(&pool).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Network(e) if e.phase() == NetworkPhase::Handshake),
        "{error}"
    );
    assert_eq!(error.address(), Some(&server.address));
    assert!(error.contains_label("SystemOverloadedError") && error.contains_label("RetryableError"));
    let received = std::mem::take(&mut *listener.received.lock().unwrap());
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].0, 0);
    assert_eq!(received[0].1.to_string(), error.to_string());
    until(&pool, |counts| counts.total == 0).await;
}

#[tokio::test]
async fn a_failed_handshake_that_clears_the_pool_fails_the_others_with_it() {
    let server = Server::start_silent().await;
    server.hang_up();
    let listener = Arc::new(Listener::default());
    let pool = paused_pool(
        &server,
        PoolSettings {
            max_connecting: 1,
            ..SETTINGS
        },
        &listener,
    );
    *listener.clears.lock().unwrap() = Arc::downgrade(&pool);
    pool.ready();
    let first = queued(&pool).await;
    let second = queued(&pool).await;
    server.answer_handshakes(1);
    assert!(first.await.unwrap().unwrap_err().is_network());
    let error = second.await.unwrap().unwrap_err();
    let ErrorKind::Pool(PoolError::Cleared {
        cause: Some(cause), ..
    }) = error.kind()
    else {
        panic!("{error:?}");
    };
    assert!(cause.is_network());
    assert_eq!(pool.generation(None), 1);
}

#[tokio::test]
async fn a_failed_handshake_that_changes_nothing_lets_the_others_try() {
    let server = Server::start_silent().await;
    server.hang_up();
    let pool = ready_pool(
        &server,
        PoolSettings {
            max_connecting: 1,
            ..SETTINGS
        },
    );
    let tasks = [queued(&pool).await, queued(&pool).await, queued(&pool).await];
    server.answer_handshakes(3);
    for task in tasks {
        assert!(task.await.unwrap().unwrap_err().is_network());
    }
    assert_eq!(server.accepted(), 3);
}

#[tokio::test]
async fn a_connection_that_failed_is_not_used_again() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    let mut connection = check_out(&pool).await.unwrap();
    server.kick_all().await;
    assert!(
        connection
            .run_hello(Deadline::NEVER)
            .await
            .unwrap_err()
            .is_network()
    );
    drop(connection);
    assert_eq!(counts(&pool).total, 0);
    assert_eq!(check_out(&pool).await.unwrap().key.id, 2);
}

#[tokio::test]
async fn connections_that_the_server_closed_while_idle_are_skipped() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    let held = [check_out(&pool).await.unwrap(), check_out(&pool).await.unwrap()];
    drop(held);
    server.kick_all().await;
    // Both ends of stream must have arrived before they can be detected without a system call.
    while pool.try_check_out(Instant::now()).is_some() {
        tokio::task::yield_now().await;
    }
    let mut next = check_out(&pool).await.unwrap();
    assert_eq!((next.key.id, counts(&pool).total), (3, 1));
    next.run_hello(Deadline::NEVER).await.unwrap();
}

#[test]
fn a_pool_whose_runtime_is_gone_is_closed() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (ours, theirs) = (runtime(), runtime());
    let server = ours.block_on(Server::start_silent());
    let (pool, waiting) = theirs.block_on(async {
        let pool = ready_pool(&server, SETTINGS);
        let own = Arc::clone(&pool);
        (pool, ours.spawn(async move { check_out(&own).await }))
    });
    // The request is made here, the connection is to be established there.
    ours.block_on(until(&pool, |counts| counts.pending == 1));
    drop(theirs);
    let closed = |result: Result<PooledConnection>| {
        matches!(
            result.unwrap_err().kind(),
            ErrorKind::Pool(PoolError::Closed { .. })
        )
    };
    assert!(closed(ours.block_on(waiting).unwrap()));
    assert!(closed(ours.block_on(check_out(&pool))));
    assert_eq!(counts(&pool).total, 0);
}
