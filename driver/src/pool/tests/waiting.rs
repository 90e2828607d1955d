//! The wait queue: order, limits, and requests that are dropped.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::*;

fn limited(max_pool_size: u32) -> PoolSettings {
    PoolSettings {
        max_pool_size,
        ..SETTINGS
    }
}

#[tokio::test]
async fn requests_are_served_in_the_order_of_their_arrival() {
    let server = Server::start().await;
    let pool = ready_pool(&server, limited(1));
    let held = check_out(&pool).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..5 {
        let (own, order) = (Arc::clone(&pool), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let connection = check_out(&own).await.unwrap();
            order.lock().unwrap().push(number);
            // A repeated request is the last in the queue.
            tokio::task::yield_now().await;
            drop(connection);
        }));
        until(&pool, |counts| counts.waiting == number + 1).await;
    }
    assert!(pool.try_check_out(Instant::now()).is_none());
    drop(held);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_share_few_connections() {
    let server = Server::start().await;
    let pool = ready_pool(&server, limited(5));
    let in_use = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (pool, in_use) = (Arc::clone(&pool), Arc::clone(&in_use));
            tokio::spawn(async move {
                for _ in 0..20 {
                    let mut connection = match pool.try_check_out(Instant::now()) {
                        Some(connection) => connection,
                        None => check_out(&pool).await.unwrap(),
                    };
                    assert!(in_use.fetch_add(1, Ordering::SeqCst) < 5);
                    connection.run_hello(Deadline::NEVER).await.unwrap();
                    in_use.fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert!(server.most_open() <= 5 && server.most_handshaking() <= 2);
    let end = counts(&pool);
    assert_eq!((end.total, end.waiting), (end.available + end.pending, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_dropped_at_any_time_leak_nothing() {
    let server = Server::start().await;
    let pool = ready_pool(&server, limited(4));
    let tasks: Vec<_> = (0..64u32)
        .map(|number| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move {
                for round in 0..20 {
                    let work = async {
                        let mut connection = check_out(&pool).await.unwrap();
                        connection.run_hello(Deadline::NEVER).await.unwrap();
                    };
                    // Polled a few times only: most end in the queue, some with a connection, some
                    // with half a reply.
                    let mut work = Box::pin(work);
                    for _ in 0..(number + round) % 7 {
                        tokio::select! {
                            biased;
                            () = &mut work => break,
                            () = tokio::task::yield_now() => {}
                        }
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    until(&pool, |counts| counts.pending + counts.draining == 0).await;
    let end = counts(&pool);
    assert_eq!((end.waiting, end.total), (0, end.available));
    assert!(server.most_open() >= end.available);
    server.open(end.available).await;
    // The pool still works, up to its limit.
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(check_out(&pool).await.unwrap());
    }
    drop(held);
    pool.close();
    server.open(0).await;
}

#[tokio::test]
async fn a_dropped_request_leaves_its_place_to_the_next() {
    let server = Server::start().await;
    let pool = ready_pool(&server, limited(1));
    let held = check_out(&pool).await.unwrap();
    let first = queued(&pool).await;
    let second = queued(&pool).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(counts(&pool).waiting, 1);
    drop(held);
    assert_eq!(second.await.unwrap().unwrap().key.id, 1);
}

#[tokio::test]
async fn a_connection_handed_to_a_dropped_request_goes_to_the_next() {
    let server = Server::start().await;
    let pool = ready_pool(&server, limited(1));
    let held = check_out(&pool).await.unwrap();
    let mut first = Box::pin(check_out(&pool));
    tokio::select! {
        biased;
        _ = &mut first => panic!("there is no connection for it"),
        () = std::future::ready(()) => {}
    }
    let second = queued(&pool).await;
    drop(held);
    // The first has been given the connection, and is dropped before it looks.
    assert_eq!(counts(&pool).waiting, 1);
    drop(first);
    assert_eq!(second.await.unwrap().unwrap().key.id, 1);
}

#[tokio::test]
async fn a_connection_established_for_a_dropped_request_is_kept() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    let request = queued(&pool).await;
    server.handshaking(1).await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    server.answer_handshakes(1);
    until(&pool, |counts| counts.available == 1).await;
    assert_eq!(pool.try_check_out(Instant::now()).unwrap().key.id, 1);
}

#[tokio::test]
async fn max_connecting_limits_handshakes_under_way() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    let mut tasks = Vec::new();
    for _ in 0..10 {
        tasks.push(queued(&pool).await);
    }
    server.handshaking(2).await;
    assert_eq!(counts(&pool).pending, 2);
    server.answer_handshakes(10);
    let mut held = Vec::new();
    for task in tasks {
        held.push(task.await.unwrap().unwrap());
    }
    assert_eq!((server.accepted(), server.most_handshaking()), (10, 2));
}

#[tokio::test]
async fn waiting_ends_after_wait_queue_timeout() {
    let server = Server::start().await;
    let timeout = Duration::from_millis(1);
    let settings = PoolSettings {
        wait_queue_timeout: Some(timeout),
        ..limited(1)
    };
    let pool = ready_pool(&server, settings);
    let held = check_out(&pool).await.unwrap();
    let error = check_out(&pool).await.unwrap_err();
    assert!(error.is_timeout());
    match error.kind() {
        ErrorKind::Pool(PoolError::WaitQueueTimeout {
            timeout: limit,
            connections,
            max_pool_size,
            ..
        }) => {
            assert_eq!((*limit, *connections, *max_pool_size), (timeout, 1, 1));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(counts(&pool).waiting, 0);
    drop(held);
    assert!(check_out(&pool).await.is_ok());
}

#[tokio::test]
async fn waiting_ends_at_the_deadline() {
    let server = Server::start_silent().await;
    let pool = ready_pool(&server, SETTINGS);
    let error = pool
        .check_out(Some(Deadline::after(Some(Duration::from_millis(1)))))
        .await
        .unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(
        counts(&pool),
        Counts {
            total: 1,
            available: 0,
            pending: 1,
            draining: 0,
            waiting: 0
        }
    );
}

#[tokio::test]
async fn wait_queue_timeout_spares_a_request_being_served() {
    let server = Server::start_silent().await;
    let settings = PoolSettings {
        wait_queue_timeout: Some(Duration::from_millis(1)),
        max_connecting: 1,
        ..SETTINGS
    };
    let pool = ready_pool(&server, settings);
    let served = queued(&pool).await;
    // This one came later and has waited for longer than allowed when it fails.
    assert!(check_out(&pool).await.unwrap_err().is_timeout());
    assert!(!served.is_finished());
    server.answer_handshakes(1);
    assert_eq!(served.await.unwrap().unwrap().key.id, 1);
}

#[tokio::test]
async fn connections_are_counted_by_what_they_are_in_use_for() {
    let server = Server::start().await;
    let pool = ready_pool(&server, limited(4));
    let in_use = || {
        let in_use = pool.connections_in_use(counts(&pool));
        (in_use.cursors, in_use.transactions, in_use.other)
    };
    let mut of_cursor = check_out(&pool).await.unwrap();
    let mut of_transaction = check_out(&pool).await.unwrap();
    let of_operation = check_out(&pool).await.unwrap();
    drop(check_out(&pool).await.unwrap());
    assert_eq!(in_use(), (0, 0, 3), "an idle connection is not in use");
    of_cursor.pin_to_cursor();
    let place = Arc::default();
    of_transaction.pin_to_transaction(&place);
    assert_eq!(in_use(), (1, 1, 1));
    of_cursor.unpin();
    assert_eq!(in_use(), (0, 1, 2));
    drop((of_cursor, of_transaction));
    assert_eq!(in_use(), (0, 1, 1), "the transaction has its connection again");
    place.release();
    assert_eq!(in_use(), (0, 0, 1));
    drop(of_operation);
    assert_eq!(in_use(), (0, 0, 0));
}

/// The check-out of an abort begins when its session is dropped, and is awaited when the session is idle.
#[tokio::test]
async fn the_time_limit_of_a_check_out_starts_when_it_begins() {
    let server = Server::start().await;
    let limit = Duration::from_secs(3600);
    let settings = PoolSettings {
        wait_queue_timeout: Some(limit),
        ..limited(1)
    };
    let pool = ready_pool(&server, settings);
    let held = check_out(&pool).await.unwrap();
    tokio::time::pause();
    let request = pool.begin_check_out().unwrap();
    tokio::time::advance(limit).await;
    let awaited = tokio::time::Instant::now();
    let error = request.wait(None).await.err().unwrap();
    assert!(error.to_string().contains("3600s"), "{error}");
    assert!(awaited.elapsed() < limit / 2, "{:?}", awaited.elapsed());
    drop(held);
}
