//! Connections that owe a reply when they are checked in.

use super::*;
use crate::proto::command::CommandBuilder;

/// Checks out a connection and sends a request whose reply the server holds back. Then drops the
/// connection.
async fn owe(pool: &Arc<Pool>, server: &Server) {
    server.hold_replies();
    let mut connection = check_out(pool).await.unwrap();
    let (message, _) = connection.begin();
    let mut command = CommandBuilder::new(message.buffer);
    command.i32("ping", 1);
    command.finish("admin").unwrap();
    message.finish().unwrap();
    connection.send(Deadline::NEVER).await.unwrap();
    drop(connection);
}

#[tokio::test]
async fn a_connection_is_used_again_after_its_late_reply() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    owe(&pool, &server).await;
    assert_eq!((counts(&pool).total, counts(&pool).draining), (1, 1));
    assert!(pool.try_check_out(Instant::now()).is_none());
    let waiting = queued(&pool).await;
    server.release_replies();
    let mut next = waiting.await.unwrap().unwrap();
    assert_eq!(next.key.id, 1);
    next.run_hello(Deadline::NEVER).await.unwrap();
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_request_does_not_wait_long_for_a_late_reply() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    owe(&pool, &server).await;
    let next = check_out(&pool).await.unwrap();
    assert_eq!(next.key.id, 2);
    // The first one can still be used when its reply arrives.
    server.release_replies();
    until(&pool, |counts| counts.available == 1).await;
}

#[tokio::test]
async fn a_connection_that_fails_while_it_is_drained_is_replaced() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    owe(&pool, &server).await;
    server.kick_all().await;
    until(&pool, |counts| counts.total == 0).await;
    assert_eq!(check_out(&pool).await.unwrap().key.id, 2);
}

#[tokio::test]
async fn a_clear_and_a_close_end_drains() {
    for (closes, interrupts) in [(false, false), (false, true), (true, false)] {
        let server = Server::start().await;
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let pool = ready_pool(&server, SETTINGS);
        let before = tasks();
        owe(&pool, &server).await;
        assert_eq!(counts(&pool).draining, 1);
        if closes {
            pool.close();
        } else {
            pool.clear(&Error::protocol("nonsense"), None, interrupts);
        }
        assert_eq!(counts(&pool).total, 0);
        server.open(0).await;
        assert!(pool.lock().interruptions.is_empty());
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_stale_connection_is_not_drained() {
    let server = Server::start().await;
    let pool = ready_pool(&server, SETTINGS);
    let mut connection = check_out(&pool).await.unwrap();
    server.hold_replies();
    {
        let hello = std::pin::pin!(connection.run_hello(Deadline::NEVER));
        tokio::select! {
            biased;
            _ = hello => panic!("no reply"),
            () = server.unanswered(1) => {}
        }
    }
    pool.clear(&Error::protocol("nonsense"), None, false);
    drop(connection);
    assert_eq!(counts(&pool).total, 0);
    server.open(0).await;
}

#[test]
fn a_drain_whose_runtime_is_gone_closes_the_connection() {
    let ours = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let theirs = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = ours.block_on(Server::start());
    let pool = theirs.block_on(async {
        let pool = ready_pool(&server, SETTINGS);
        owe(&pool, &server).await;
        pool
    });
    assert_eq!(counts(&pool).draining, 1);
    drop(theirs);
    assert_eq!(counts(&pool).total, 0);
    ours.block_on(server.open(0));
}
