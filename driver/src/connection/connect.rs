//! Connecting to the first of a host's addresses that answers (Happy Eyeballs).

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout_at},
};

use crate::{
    proto::happy_eyeballs::{ConnectionAttempts, Step},
    types::deadline::Deadline,
};

/// The idle time before the first TCP keepalive probe. Probes keep the connection open in firewalls
/// and detect a peer that is unreachable. The default of operating systems, two hours, is longer
/// than the timeout of most firewalls.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(120);
/// The time between two probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// The number of unanswered probes that end the connection.
const KEEPALIVE_PROBES: u32 = 9;

/// One attempt.
type Attempt<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// Connects to one of the addresses until `deadline`, which was calculated from `limit`. Dropping
/// the future closes the sockets of all attempts. The first success closes those of the others.
pub(super) async fn connect(
    addresses: Vec<SocketAddr>,
    deadline: Deadline,
    limit: Duration,
) -> io::Result<TcpStream> {
    race(ConnectionAttempts::new(addresses), deadline, limit, |address| {
        Box::pin(open(address))
    })
    .await
}

async fn race<T>(
    mut attempts: ConnectionAttempts,
    deadline: Deadline,
    limit: Duration,
    begin: impl Fn(SocketAddr) -> Attempt<T>,
) -> io::Result<T> {
    let mut running: Vec<(SocketAddr, Attempt<T>)> = Vec::new();
    loop {
        let due = match attempts.next(Instant::now().into_std()) {
            Step::Attempt(address) => {
                running.push((address, begin(address)));
                continue;
            }
            Step::WaitUntil(due) => Some(due),
            Step::Wait => None,
            Step::GiveUp => return Err(attempts.into_error()),
        };
        let wait = async {
            match due {
                Some(due) => timeout_at(due.into(), first(&mut running)).await.ok(),
                None => Some(first(&mut running).await),
            }
        };
        match deadline.run(wait).await {
            Ok(Some((_, Ok(connected)))) => return Ok(connected),
            Ok(Some((address, Err(error)))) => attempts.failed(address, error),
            Ok(None) => {}
            Err(_) => return Err(attempts.into_timeout(limit)),
        }
    }
}

/// Waits for the first attempt that ends, and takes it away.
async fn first<T>(running: &mut Vec<(SocketAddr, Attempt<T>)>) -> (SocketAddr, io::Result<T>) {
    poll_fn(|cx| poll_first(running, cx)).await
}

fn poll_first<T>(
    running: &mut Vec<(SocketAddr, Attempt<T>)>,
    cx: &mut Context<'_>,
) -> Poll<(SocketAddr, io::Result<T>)> {
    let ended =
        running
            .iter_mut()
            .enumerate()
            .find_map(|(index, (_, attempt))| match attempt.as_mut().poll(cx) {
                Poll::Ready(outcome) => Some((index, outcome)),
                Poll::Pending => None,
            });
    match ended {
        Some((index, outcome)) => Poll::Ready((running.remove(index).0, outcome)),
        None => Poll::Pending,
    }
}

async fn open(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_nodelay(true)?;
    keep_alive(&socket)?;
    socket.connect(address).await
}

fn keep_alive(socket: &TcpSocket) -> io::Result<()> {
    let probes = TcpKeepalive::new().with_time(KEEPALIVE_IDLE);
    // OpenBSD has no such options for one socket.
    #[cfg(not(target_os = "openbsd"))]
    let probes = probes
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_PROBES);
    SockRef::from(socket).set_tcp_keepalive(&probes)
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        sync::{Arc, Mutex},
    };

    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(3600);

    fn address(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 27017).into()
    }

    /// Records its drop.
    struct Held(u8, Arc<Mutex<Vec<u8>>>);

    impl Drop for Held {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[tokio::test]
    async fn a_silent_address_does_not_hold_up_the_next() {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let attempts = ConnectionAttempts::new([1, 2, 3].map(address));
        let begun = Mutex::new(Vec::new());
        let connected = race(attempts, Deadline::NEVER, LIMIT, |at| {
            begun.lock().unwrap().push(at);
            let held = Held(begun.lock().unwrap().len() as u8, Arc::clone(&dropped));
            Box::pin(async move {
                let _held = held;
                if at == address(2) { Ok(at) } else { pending().await }
            })
        });
        assert_eq!(connected.await.unwrap(), address(2));
        assert_eq!(
            *begun.lock().unwrap(),
            [1, 2].map(address),
            "the third is not needed"
        );
        let mut dropped = dropped.lock().unwrap().clone();
        dropped.sort_unstable();
        assert_eq!(dropped, [1, 2], "the silent attempt is given up");
    }

    #[tokio::test]
    async fn an_early_attempt_may_win_late() {
        // The first one ends when the second has begun.
        let (second_begun, begun) = tokio::sync::watch::channel(false);
        let attempts = ConnectionAttempts::new([1, 2].map(address));
        let connected = race(attempts, Deadline::NEVER, LIMIT, |at| {
            let mut begun = begun.clone();
            if at == address(1) {
                Box::pin(async move {
                    begun.wait_for(|begun| *begun).await.unwrap();
                    Ok(at)
                })
            } else {
                second_begun.send_replace(true);
                Box::pin(pending())
            }
        });
        assert_eq!(connected.await.unwrap(), address(1));
    }

    #[tokio::test]
    async fn all_failures_are_reported() {
        let attempts = ConnectionAttempts::new([1, 2, 3].map(address));
        let error = race::<()>(attempts, Deadline::NEVER, LIMIT, |_| {
            Box::pin(ready(Err(io::ErrorKind::ConnectionRefused.into())))
        })
        .await
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        for last in [1, 2, 3] {
            assert!(error.to_string().contains(&address(last).to_string()), "{error}");
        }
    }

    #[tokio::test]
    async fn silence_everywhere_ends_with_the_deadline() {
        let limit = Duration::from_millis(20);
        let attempts = ConnectionAttempts::new([1, 2].map(address));
        let deadline = Deadline::after(Some(limit));
        let error = race::<()>(attempts, deadline, limit, |_| Box::pin(pending()));
        let error = error.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("192.0.2.1:27017"), "{error}");
    }

    #[tokio::test]
    async fn sockets_are_probed_and_do_not_delay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stream = connect(vec![address], Deadline::NEVER, LIMIT).await.unwrap();
        assert!(stream.nodelay().unwrap());
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        #[cfg(target_os = "linux")]
        {
            assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE_IDLE);
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), KEEPALIVE_INTERVAL);
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), KEEPALIVE_PROBES);
        }
    }
}
