//! A TCP proxy between a client and a server. A rule chooses an action for each exchange.
//!
//! The proxy reads message boundaries, command names and the flag `moreToCome`, and nothing else of
//! the protocol. It uses no timers: a reply that is held back is released by a call of the test, by
//! the end of the connection, or by the next action.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
};

mod action;
mod relay;

pub use action::{Action, Done, Place};

/// A request that has been received in full and not yet forwarded, or a further reply of an exhaust
/// cursor or a streaming hello.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The index of the connection, in the order of acceptance.
    pub connection: usize,
    /// The command name as sent by the client.
    pub command: &'a str,
    /// Whether this is the first request of the connection.
    pub is_first: bool,
    /// Whether this is a further reply to a request that already has one.
    pub is_streamed: bool,
    request: &'a [u8],
}

impl Exchange<'_> {
    /// Whether the command is a hello, of a handshake or a monitor.
    #[must_use]
    pub fn is_hello(&self) -> bool {
        matches!(self.command, "hello" | "isMaster" | "ismaster")
    }

    /// Whether the command is a hello with speculative authentication.
    #[must_use]
    pub fn is_login(&self) -> bool {
        self.is_hello() && self.mentions("saslSupportedMechs")
    }

    fn name(&self) -> &str {
        match self.command {
            _ if self.is_login() => "login",
            _ if self.is_hello() => "hello",
            command => command,
        }
    }

    /// Whether the bytes of the request contain a field of this name at any depth.
    #[must_use]
    pub fn mentions(&self, field: &str) -> bool {
        let key = [field.as_bytes(), &[0]].concat();
        self.request.windows(key.len()).any(|bytes| bytes == key)
    }
}

type Rule = Box<dyn FnMut(&Exchange<'_>) -> Action + Send>;

/// Listens on a loopback port until it is dropped. Dropping it also closes its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    /// The server. Connections are closed until it is set.
    target: OnceLock<SocketAddr>,
    rule: Mutex<Rule>,
    /// The pieces that wait for [`Proxy::release`], the oldest first.
    held: Mutex<VecDeque<oneshot::Sender<()>>>,
    held_changed: watch::Sender<()>,
    /// The number of calls of [`Proxy::end_waits`].
    waits: watch::Sender<u64>,
    paused: watch::Sender<bool>,
    /// Whether nothing is forwarded in either direction.
    partitioned: watch::Sender<bool>,
    /// The number of calls of [`Proxy::close_all`].
    cuts: watch::Sender<u64>,
    refusals: AtomicUsize,
    silences: AtomicUsize,
    open: watch::Sender<usize>,
    accepted: AtomicUsize,
    /// The requests and replies by command name.
    seen: watch::Sender<BTreeMap<String, Seen>>,
    refused: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    requests: usize,
    replies: usize,
    longest_reply: usize,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// Starts a proxy that forwards everything to `target`.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(target: SocketAddr) -> Self {
        let proxy = Self::without_target().await;
        proxy.set_target(target);
        proxy
    }

    /// Starts a proxy without a target. Connections are closed until
    /// [`set_target`](Self::set_target) is called.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn without_target() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            target: OnceLock::new(),
            rule: Mutex::new(Box::new(|_| Action::Pass)),
            held: Mutex::default(),
            held_changed: watch::Sender::new(()),
            waits: watch::Sender::new(0),
            paused: watch::Sender::new(false),
            partitioned: watch::Sender::new(false),
            cuts: watch::Sender::new(0),
            refusals: AtomicUsize::new(0),
            silences: AtomicUsize::new(0),
            open: watch::Sender::new(0),
            accepted: AtomicUsize::new(0),
            seen: watch::Sender::default(),
            refused: watch::Sender::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            task,
        }
    }

    /// Sets the target of a proxy that was started without one. Further calls have no effect.
    pub fn set_target(&self, target: SocketAddr) {
        let _ = self.shared.target.set(target);
    }

    /// The address of the listening socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A connection string for the proxy, with options such as `maxPoolSize=1`. It has
    /// `serverMonitoringMode=poll`, so that the monitor has one connection.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!(
            "mongodb://{}/?directConnection=true&serverMonitoringMode=poll&{options}",
            self.address
        )
    }

    /// Sets the rule that chooses the action for each exchange.
    pub fn set_rule(&self, rule: impl FnMut(&Exchange<'_>) -> Action + Send + 'static) {
        *lock(&self.shared.rule) = Box::new(rule);
    }

    /// Removes the rule: everything is forwarded.
    pub fn pass_everything(&self) {
        self.set_rule(|_| Action::Pass);
    }

    /// A handle for use in rules. It does not keep the proxy alive.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(Arc::clone(&self.shared))
    }

    /// Releases the oldest piece that is held back. Waits until there is one.
    pub async fn release(&self) {
        let mut changes = self.shared.held_changed.subscribe();
        loop {
            let held = lock(&self.shared.held).pop_front();
            match held {
                // Pieces of closed connections are skipped.
                Some(piece) => {
                    if piece.send(()).is_ok() {
                        return;
                    }
                }
                None => changes.changed().await.expect("the sender is in the proxy"),
            }
        }
    }

    /// Waits until a piece of a reply is held back. Does not release it.
    pub async fn wait_for_held(&self) {
        let mut changes = self.shared.held_changed.subscribe();
        while lock(&self.shared.held).iter().all(oneshot::Sender::is_closed) {
            changes.changed().await.expect("the sender is in the proxy");
        }
    }

    /// Ends the waits of all actions: releases delayed replies and closes connections that hang.
    pub fn end_waits(&self) {
        self.control().end_waits();
    }

    /// Stops reading requests until [`resume_requests`](Self::resume_requests). They stay in the
    /// buffers of the sockets.
    pub fn pause_requests(&self) {
        self.shared.paused.send_replace(true);
    }

    /// Ends [`pause_requests`](Self::pause_requests).
    pub fn resume_requests(&self) {
        self.shared.paused.send_replace(false);
    }

    /// Begins or ends a network partition: sockets stay open, new connections are accepted, and
    /// nothing is forwarded. When the partition ends, held data is forwarded unless its connection
    /// is closed.
    pub fn set_partitioned(&self, partitioned: bool) {
        self.shared.partitioned.send_replace(partitioned);
    }

    /// Closes all connections.
    pub fn close_all(&self) {
        self.shared.cuts.send_modify(|count| *count += 1);
    }

    /// The number of open connections.
    #[must_use]
    pub fn open(&self) -> usize {
        *self.shared.open.borrow()
    }

    /// Waits until at least `count` connections are open.
    pub async fn wait_for_at_least_open(&self, count: usize) {
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open >= count)
            .await
            .expect("the sender is in the proxy");
    }

    /// The length in bytes of the longest reply to this command; 0 without replies. The name
    /// `hello` stands for all spellings of hello, and `login` for a hello with speculative
    /// authentication.
    #[must_use]
    pub fn length_of_reply(&self, command: &str) -> usize {
        let seen = self.shared.seen.borrow();
        seen.get(command)
            .map(|seen| seen.longest_reply)
            .unwrap_or_default()
    }

    /// The number of requests of this command; see [`length_of_reply`](Self::length_of_reply) for
    /// the names.
    #[must_use]
    pub fn requests(&self, command: &str) -> usize {
        let seen = self.shared.seen.borrow();
        seen.get(command).map(|seen| seen.requests).unwrap_or_default()
    }

    /// Waits for `count` requests of this command; see [`length_of_reply`](Self::length_of_reply)
    /// for the names.
    pub async fn wait_for_requests(&self, command: &str, count: usize) {
        self.wait_for(command, |seen| seen.requests >= count).await;
    }

    /// Waits for `count` replies to this command; see [`length_of_reply`](Self::length_of_reply)
    /// for the names.
    pub async fn wait_for_replies(&self, command: &str, count: usize) {
        self.wait_for(command, |seen| seen.replies >= count).await;
    }

    async fn wait_for(&self, command: &str, fits: impl Fn(&Seen) -> bool) {
        let mut seen = self.shared.seen.subscribe();
        seen.wait_for(|seen| seen.get(command).is_some_and(&fits))
            .await
            .expect("the sender is in the proxy");
    }

    /// Waits until `count` connections have been refused.
    pub async fn wait_for_refusals(&self, count: usize) {
        let mut refused = self.shared.refused.subscribe();
        refused
            .wait_for(|refused| *refused >= count)
            .await
            .expect("the sender is in the proxy");
    }

    /// The number of accepted connections, without refused ones.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// Waits until at most `count` connections are open.
    pub async fn wait_for_at_most_open(&self, count: usize) {
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open <= count)
            .await
            .expect("the sender is in the proxy");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The part of a proxy that rules can use.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

impl Control {
    /// As [`Proxy::end_waits`].
    pub fn end_waits(&self) {
        self.0.waits.send_modify(|count| *count += 1);
    }

    /// Closes the next `count` connections as soon as they are accepted.
    pub fn refuse(&self, count: usize) {
        self.0.refusals.fetch_add(count, Ordering::SeqCst);
    }

    /// Accepts the next `count` connections and never answers on them.
    pub fn ignore(&self, count: usize) {
        self.0.silences.fetch_add(count, Ordering::SeqCst);
    }

    /// The number of further connections that will be [refused](Self::refuse) or
    /// [ignored](Self::ignore).
    #[must_use]
    pub fn remaining_rejections(&self) -> usize {
        self.0.refusals.load(Ordering::SeqCst) + self.0.silences.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, which closes all connections.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        if take_one(&shared.refusals) {
            drop(client);
            shared.refused.send_modify(|count| *count += 1);
            continue;
        }
        let silent = take_one(&shared.silences);
        let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let counted = Counted::new(&shared);
            let mut cuts = shared.cuts.subscribe();
            let serve = async {
                // If one side closes its connection, both sockets are closed.
                if silent {
                    relay::ignore(client).await;
                } else if let Some(target) = shared.target.get()
                    && let Ok(server) = TcpStream::connect(target).await
                {
                    let _ = relay::run(client, server, number, &shared).await;
                }
            };
            tokio::select! {
                () = serve => {}
                _ = cuts.changed() => {}
            }
            drop(counted);
        });
    }
}

/// Decrements the count unless it is 0. Returns whether it was decremented.
fn take_one(count: &AtomicUsize) -> bool {
    count
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        .is_ok()
}

/// Counts a connection as open until it is dropped.
struct Counted<'a>(&'a Shared);

impl<'a> Counted<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.open.send_modify(|open| *open += 1);
        Self(shared)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}
