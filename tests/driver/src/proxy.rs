//! A TCP proxy between a client and a server. A rule decides for each exchange what happens to the reply.
//!
//! It knows message boundaries, command names and which replies go on by themselves, and nothing else of the protocol. Nothing
//! in it depends on time: what is held back is let go by a command of the test, by the end of the connection, or by the next
//! fault.

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

mod fate;
mod relay;

pub use fate::{Done, Fate, Place};

/// A request that has arrived in full and was not yet passed on; or one more reply to it that the server has announced.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// Connections are counted from 0 in the order they were accepted.
    pub connection: usize,
    /// The command's name as the client spelled it.
    pub command: &'a str,
    /// It is the first of its connection.
    pub is_first: bool,
    /// The request was answered already, and the server goes on answering it.
    pub is_streamed: bool,
    request: &'a [u8],
}

impl Exchange<'_> {
    /// Whether it belongs to a handshake or to a monitor.
    #[must_use]
    pub fn is_hello(&self) -> bool {
        matches!(self.command, "hello" | "isMaster" | "ismaster")
    }

    /// Whether it is a hello that begins a login.
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

    /// Whether the request has a field of this name, wherever it is.
    #[must_use]
    pub fn mentions(&self, field: &str) -> bool {
        let key = [field.as_bytes(), &[0]].concat();
        self.request.windows(key.len()).any(|bytes| bytes == key)
    }
}

type Rule = Box<dyn FnMut(&Exchange<'_>) -> Fate + Send>;

/// Listens on loopback until it is dropped, which ends its connections too.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    /// No connection is relayed before it is set.
    target: OnceLock<SocketAddr>,
    rule: Mutex<Rule>,
    /// Pieces that wait for [`Proxy::release`], the oldest first.
    held: Mutex<VecDeque<oneshot::Sender<()>>>,
    held_changed: watch::Sender<()>,
    /// Counts the calls of [`Proxy::end_waits`].
    waits: watch::Sender<u64>,
    paused: watch::Sender<bool>,
    /// Nothing passes in either direction.
    partitioned: watch::Sender<bool>,
    /// Counts the calls of [`Proxy::cut_all`].
    cuts: watch::Sender<u64>,
    refusals: AtomicUsize,
    silences: AtomicUsize,
    open: watch::Sender<usize>,
    accepted: AtomicUsize,
    /// What was seen of each command.
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
    /// A proxy that passes everything to `target`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(target: SocketAddr) -> Self {
        let proxy = Self::without_target().await;
        proxy.set_target(target);
        proxy
    }

    /// A proxy whose address is known before that of its target is. Connections made before
    /// [`set_target`](Self::set_target) are closed.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn without_target() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            target: OnceLock::new(),
            rule: Mutex::new(Box::new(|_| Fate::Pass)),
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

    /// Says who is behind a proxy that was started without a target. Another call changes nothing.
    pub fn set_target(&self, target: SocketAddr) {
        let _ = self.shared.target.set(target);
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A connection string for it, with options such as `maxPoolSize=1`. The server is polled, so that its monitor has one
    /// connection.
    #[must_use]
    pub fn uri(&self, options: &str) -> String {
        format!(
            "mongodb://{}/?directConnection=true&serverMonitoringMode=poll&{options}",
            self.address
        )
    }

    /// Decides from now on what becomes of each exchange.
    pub fn set_rule(&self, rule: impl FnMut(&Exchange<'_>) -> Fate + Send + 'static) {
        *lock(&self.shared.rule) = Box::new(rule);
    }

    /// Everything passes from now on.
    pub fn pass_everything(&self) {
        self.set_rule(|_| Fate::Pass);
    }

    /// A handle for rules, which cannot hold the proxy itself.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(Arc::clone(&self.shared))
    }

    /// Lets the oldest held piece of a reply go, waiting until there is one.
    pub async fn release(&self) {
        let mut changes = self.shared.held_changed.subscribe();
        loop {
            let held = lock(&self.shared.held).pop_front();
            match held {
                // A connection that has ended does not hold anything any more.
                Some(piece) => {
                    if piece.send(()).is_ok() {
                        return;
                    }
                }
                None => changes.changed().await.expect("the sender is in the proxy"),
            }
        }
    }

    /// Waits until a piece of a reply is held, and leaves it there.
    pub async fn wait_for_held(&self) {
        let mut changes = self.shared.held_changed.subscribe();
        while lock(&self.shared.held).iter().all(oneshot::Sender::is_closed) {
            changes.changed().await.expect("the sender is in the proxy");
        }
    }

    /// Ends what hangs and lets go what is delayed.
    pub fn end_waits(&self) {
        self.control().end_waits();
    }

    /// Requests that have not begun to be read stay in the sockets' buffers until [`resume_requests`](Self::resume_requests).
    pub fn pause_requests(&self) {
        self.shared.paused.send_replace(true);
    }

    /// See [`pause_requests`](Self::pause_requests).
    pub fn resume_requests(&self) {
        self.shared.paused.send_replace(false);
    }

    /// Cuts both sides off from each other, or ends that: sockets stay open, new ones are accepted, and nothing passes. What
    /// was held goes on its way afterwards, unless its sender has gone by then.
    pub fn set_partitioned(&self, partitioned: bool) {
        self.shared.partitioned.send_replace(partitioned);
    }

    /// Ends all connections.
    pub fn cut_all(&self) {
        self.shared.cuts.send_modify(|count| *count += 1);
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        *self.shared.open.borrow()
    }

    /// Waits until at least `count` connections are open.
    ///
    /// # Panics
    /// Never: the proxy outlives its borrow.
    pub async fn wait_for_at_least_open(&self, count: usize) {
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open >= count)
            .await
            .expect("the sender is in the proxy");
    }

    /// How many bytes the longest reply to this command had, whatever became of it; 0 if there was none. All hellos are `hello`;
    /// those that begin a login are `login`.
    #[must_use]
    pub fn length_of_reply(&self, command: &str) -> usize {
        let seen = self.shared.seen.borrow();
        seen.get(command)
            .map(|seen| seen.longest_reply)
            .unwrap_or_default()
    }

    /// How often this command, as [`length_of_reply`](Self::length_of_reply) names it, was requested.
    #[must_use]
    pub fn requests(&self, command: &str) -> usize {
        let seen = self.shared.seen.borrow();
        seen.get(command).map(|seen| seen.requests).unwrap_or_default()
    }

    /// Waits until this command, as [`length_of_reply`](Self::length_of_reply) names it, was requested so often.
    pub async fn wait_for_requests(&self, command: &str, count: usize) {
        self.wait_for(command, |seen| seen.requests >= count).await;
    }

    /// Waits until this command, as [`length_of_reply`](Self::length_of_reply) names it, was answered so often by the server.
    pub async fn wait_for_replies(&self, command: &str, count: usize) {
        self.wait_for(command, |seen| seen.replies >= count).await;
    }

    async fn wait_for(&self, command: &str, fits: impl Fn(&Seen) -> bool) {
        let mut seen = self.shared.seen.subscribe();
        seen.wait_for(|seen| seen.get(command).is_some_and(&fits))
            .await
            .expect("the sender is in the proxy");
    }

    /// Waits until this many connections were refused.
    ///
    /// # Panics
    /// Never: the proxy outlives its borrow.
    pub async fn wait_for_refusals(&self, count: usize) {
        let mut refused = self.shared.refused.subscribe();
        refused
            .wait_for(|refused| *refused >= count)
            .await
            .expect("the sender is in the proxy");
    }

    /// Connections accepted so far, refused ones left out.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// Waits until no more than `count` connections are open.
    ///
    /// # Panics
    /// Never: the proxy outlives its borrow.
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

/// What a rule may do beside deciding.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

impl Control {
    /// See [`Proxy::end_waits`].
    pub fn end_waits(&self) {
        self.0.waits.send_modify(|count| *count += 1);
    }

    /// The next `count` connections are closed as soon as they are accepted.
    pub fn refuse(&self, count: usize) {
        self.0.refusals.fetch_add(count, Ordering::SeqCst);
    }

    /// The next `count` connections are accepted, and nothing that is sent there is answered, until the client closes them.
    pub fn ignore(&self, count: usize) {
        self.0.silences.fetch_add(count, Ordering::SeqCst);
    }

    /// How many connections are still to be [refused](Self::refuse) or [ignored](Self::ignore).
    #[must_use]
    pub fn still_to_turn_away(&self) -> usize {
        self.0.refusals.load(Ordering::SeqCst) + self.0.silences.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, which ends all connections.
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
                // An error is one side's hanging up; both sockets are closed then.
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

/// Takes one from the count, if there is one.
fn take_one(count: &AtomicUsize) -> bool {
    count
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        .is_ok()
}

/// A connection counts as open while this lives.
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
