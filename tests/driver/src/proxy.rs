//! A TCP proxy between a client and a server that does to replies what it is told, exchange by exchange.
//!
//! It knows message boundaries and command names, and nothing else of the protocol. Nothing in it depends on time: what is
//! held back is let go by a command of the test, by the end of the connection, or by the next fault.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
};

mod relay;

/// A request that has arrived in full and was not yet passed on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// Connections are counted from 0 in the order they were accepted.
    pub connection: usize,
    /// The command's name as the client spelled it.
    pub command: &'a str,
}

impl Exchange<'_> {
    /// Whether it belongs to a handshake or to a monitor.
    #[must_use]
    pub fn is_hello(&self) -> bool {
        matches!(self.command, "hello" | "isMaster" | "ismaster")
    }
}

/// What becomes of a request and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// Both pass.
    Pass,
    /// The server never sees the request; the connection ends.
    Lose,
    /// This many bytes of the reply, at most all but one, then the end of the connection.
    CutAfter(usize),
    /// The reply with one byte changed, then the end of the connection.
    Garble {
        /// Which byte.
        at: usize,
        /// The bits that are flipped.
        mask: u8,
    },
    /// No byte of the reply; the connection ends with the next [`Proxy::end_waits`].
    Hang,
    /// No byte of the reply before the next [`Proxy::end_waits`].
    Delay,
    /// The reply, then the end of this direction; requests are still read and passed on, their replies are not.
    HalfClose,
    /// The reply in pieces that end at these offsets, the last piece being the rest, each when [`Proxy::release`] is called.
    Stepwise(Vec<usize>),
    /// Another fate, which begins with the next [`Proxy::end_waits`]; the request is not passed on before.
    Later(Box<Fate>),
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
    target: SocketAddr,
    rule: Mutex<Rule>,
    /// Pieces that wait for [`Proxy::release`], the oldest first.
    held: Mutex<VecDeque<oneshot::Sender<()>>>,
    held_changed: watch::Sender<()>,
    /// Counts the calls of [`Proxy::end_waits`].
    waits: watch::Sender<u64>,
    paused: watch::Sender<bool>,
    refusals: AtomicUsize,
    open: watch::Sender<usize>,
    accepted: AtomicUsize,
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
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            target,
            rule: Mutex::new(Box::new(|_| Fate::Pass)),
            held: Mutex::default(),
            held_changed: watch::Sender::new(()),
            waits: watch::Sender::new(0),
            paused: watch::Sender::new(false),
            refusals: AtomicUsize::new(0),
            open: watch::Sender::new(0),
            accepted: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            task,
        }
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
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, which ends all connections.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let refuse = |left: usize| left.checked_sub(1);
        if shared
            .refusals
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, refuse)
            .is_ok()
        {
            continue;
        }
        let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let counted = Counted::new(&shared);
            if let Ok(server) = TcpStream::connect(shared.target).await {
                // An error is one side's hanging up; both sockets are closed then.
                let _ = relay::run(client, server, number, &shared).await;
            }
            drop(counted);
        });
    }
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
