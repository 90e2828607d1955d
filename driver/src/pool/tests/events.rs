//! What listeners hear, and interruptions.

use std::sync::Mutex;

use super::*;
use crate::proto::{
    cmap::CheckOut,
    event::{EventListener, PoolEvent},
};

type Received = Arc<Mutex<Vec<String>>>;

/// Settings whose listener writes down the kind of each event with its connection and reason.
fn listening(mut settings: PoolSettings) -> (PoolSettings, Received) {
    let received = Received::default();
    let sink = Arc::clone(&received);
    let listener = EventListener::new(move |event: &PoolEvent| {
        let text = match event {
            PoolEvent::PoolCreated { options, .. } => format!("created {:?}", options.max_pool_size),
            PoolEvent::PoolReady { .. } => "ready".to_owned(),
            PoolEvent::PoolCleared {
                interrupt_in_use_connections,
                ..
            } => format!("cleared {interrupt_in_use_connections}"),
            PoolEvent::PoolClosed { .. } => "closed".to_owned(),
            PoolEvent::ConnectionCreated { connection_id, .. } => format!("{connection_id} created"),
            PoolEvent::ConnectionReady { connection_id, .. } => format!("{connection_id} ready"),
            PoolEvent::ConnectionClosed {
                connection_id,
                reason,
                error,
                ..
            } => format!("{connection_id} closed: {reason}, {}", error.is_some()),
            PoolEvent::ConnectionCheckOutStarted { .. } => "check-out".to_owned(),
            PoolEvent::ConnectionCheckOutFailed { reason, error, .. } => {
                format!("failed: {reason}, {}", error.is_some())
            }
            PoolEvent::ConnectionCheckedOut { connection_id, .. } => format!("{connection_id} out"),
            PoolEvent::ConnectionCheckedIn { connection_id, .. } => format!("{connection_id} in"),
        };
        sink.lock().unwrap().push(text);
    });
    settings.listener = Some(listener);
    (settings, received)
}

fn take(received: &Received) -> Vec<String> {
    std::mem::take(&mut *received.lock().unwrap())
}

#[tokio::test]
async fn events_of_a_lifetime_are_in_order() {
    let server = Server::start().await;
    let (settings, received) = listening(PoolSettings {
        max_pool_size: 1,
        ..SETTINGS
    });
    let pool = paused_pool(&server, settings, &Arc::default());
    assert!(check_out(&pool).await.is_err());
    pool.ready();
    let mut held = check_out(&pool).await.unwrap();
    assert_eq!(
        take(&received),
        [
            "created Some(1)",
            "check-out",
            "failed: connectionError, true",
            "ready",
            "check-out",
            "1 created",
            "1 ready",
            "1 out"
        ]
    );
    let waiting = queued(&pool).await;
    held.fail(Error::protocol("nonsense"));
    drop(held);
    let next = waiting.await.unwrap().unwrap();
    assert_eq!(
        take(&received),
        [
            "check-out",
            "1 in",
            "1 closed: error, true",
            "2 created",
            "2 ready",
            "2 out"
        ]
    );
    let abandoned = queued(&pool).await;
    abandoned.abort();
    assert!(abandoned.await.unwrap_err().is_cancelled());
    assert_eq!(take(&received), ["check-out", "failed: timeout, false"]);
    pool.close();
    drop(next);
    assert_eq!(take(&received), ["closed", "2 in", "2 closed: poolClosed, false"]);
}

#[tokio::test]
async fn a_pool_is_cleared_before_the_failed_connection_is_closed() {
    let server = Server::start().await;
    server.hang_up();
    let (settings, received) = listening(SETTINGS);
    let listener = Arc::new(Listener::default());
    let pool = paused_pool(&server, settings, &listener);
    *listener.clears.lock().unwrap() = Arc::downgrade(&pool);
    pool.ready();
    assert!(check_out(&pool).await.unwrap_err().is_network());
    assert_eq!(
        take(&received),
        [
            "created None",
            "ready",
            "check-out",
            "1 created",
            "cleared false",
            "1 closed: error, true",
            "failed: connectionError, true"
        ]
    );
}

#[tokio::test]
async fn an_interruption_wakes_operations_that_wait_for_a_reply() {
    let server = Server::start().await;
    let (settings, received) = listening(SETTINGS);
    let pool = ready_pool(&server, settings);
    let mut busy = check_out(&pool).await.unwrap();
    let pinned = check_out(&pool).await.unwrap();
    server.stop_answering();
    let user = tokio::spawn(async move { busy.run_hello(Deadline::NEVER).await.unwrap_err() });
    server.unanswered(1).await;
    take(&received);
    pool.clear(&Error::protocol("no heartbeat"), None, true);
    let error = user.await.unwrap();
    assert!(error.is_network() && !error.is_timeout(), "{error}");
    assert!(
        error.to_string().contains("connection pool was cleared"),
        "{error}"
    );
    assert_eq!(
        take(&received),
        ["cleared true", "1 in", "1 closed: stale, false"]
    );
    // A connection without a waiting operation fails at its next use.
    assert_eq!(pinned.condition(), Condition::Broken);
    drop(pinned);
    assert_eq!(take(&received), ["2 in", "2 closed: stale, false"]);
}

#[tokio::test]
async fn a_pool_without_maintenance_keeps_its_connections_and_makes_none() {
    let server = Server::start().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let pool = ready_pool(
        &server,
        PoolSettings {
            min_pool_size: 2,
            maintenance_interval: None,
            ..SETTINGS
        },
    );
    assert_eq!((tasks(), counts(&pool).total), (before, 0));
}

/// The deployment changes its pools under a lock of its own, which a listener may need: it may drop
/// the client.
#[tokio::test]
async fn nothing_is_performed_and_no_event_is_emitted_before_a_pool_is_settled() {
    let server = Server::start().await;
    let (settings, received) = listening(PoolSettings {
        max_pool_size: 1,
        ..SETTINGS
    });
    let pool = paused_pool(&server, settings, &Arc::default());
    pool.ready();
    let mut held = check_out(&pool).await.unwrap();
    take(&received);
    // The state between another thread's change of the machine and the performance of its actions:
    // a connection for a request that no longer exists. Dropping it checks it in.
    let connection = held.connection.take().expect("it is still there");
    let key = held.key;
    {
        let machine = &mut pool.lock().machine;
        let gone = oneshot::channel().0;
        let now = Instant::now();
        assert!(matches!(
            machine.check_out(gone, now, |_| false),
            CheckOut::Waiting(_)
        ));
        machine.check_in(key, connection, Ok(()), || now);
    }
    pool.clear_without_events(&Error::protocol("nonsense"), None, false);
    pool.ready_without_events();
    pool.close_without_events();
    assert_eq!(take(&received), [""; 0]);
    pool.settle();
    assert_eq!(
        take(&received),
        [
            "check-out",
            "1 in",
            "1 out",
            "cleared false",
            "ready",
            "closed",
            "1 in",
            "1 closed: poolClosed, false",
        ]
    );
    assert_eq!(counts(&pool).total, 0);
}

/// A `tracing` subscriber can be installed at any time.
#[cfg(feature = "tracing")]
#[tokio::test]
async fn a_listener_that_becomes_interested_receives_the_next_change_of_the_pool() {
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_INTERESTED: AtomicBool = AtomicBool::new(false);

    let server = Server::start().await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let settings = PoolSettings {
        listener: Some(EventListener::while_interested(
            || IS_INTERESTED.load(Ordering::Relaxed),
            move |event: &PoolEvent| sink.lock().unwrap().push(event.clone()),
        )),
        ..SETTINGS
    };
    let pool = ready_pool(&server, settings);
    let held = check_out(&pool).await.unwrap();
    events.lock().unwrap().clear();
    IS_INTERESTED.store(true, Ordering::Relaxed);
    pool.clear(&Error::invalid_argument("x"), None, false);
    let cleared = std::mem::take(&mut *events.lock().unwrap());
    assert!(
        matches!(&*cleared, [PoolEvent::PoolCleared { .. }]),
        "{cleared:?}"
    );
    drop(held);
}
