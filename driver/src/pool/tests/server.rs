//! A scripted server: it replies to `hello`, and to every other command with `ok: 1`.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore, watch},
    task::AbortHandle,
};

use crate::{ServerAddress, bson::rawdoc};

/// Ends when dropped.
pub(super) struct Server {
    pub(super) address: ServerAddress,
    script: Arc<Script>,
    accepting: AbortHandle,
}

struct Script {
    /// Sockets open now, and the most there ever were.
    open: watch::Sender<(usize, usize)>,
    /// Handshakes received and not answered yet, and the most there ever were.
    handshaking: watch::Sender<(usize, usize)>,
    /// Sockets accepted in all.
    accepted: watch::Sender<usize>,
    /// Each handshake answered takes one.
    permits: Semaphore,
    hangs_up: AtomicBool,
    silent: AtomicBool,
    /// Whether nothing but handshakes is answered now.
    held: watch::Sender<bool>,
    /// Requests received and not answered.
    unanswered: watch::Sender<usize>,
    kick: Notify,
}

impl Server {
    /// A server that answers handshakes at once.
    pub(super) async fn start() -> Self {
        let server = Self::start_silent().await;
        server.answer_handshakes(Semaphore::MAX_PERMITS);
        server
    }

    /// A server that accepts connections and replies to handshakes only when the test permits it.
    pub(super) async fn start_silent() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = ServerAddress::tcp("127.0.0.1", listener.local_addr().unwrap().port());
        let script = Arc::new(Script {
            open: watch::Sender::default(),
            handshaking: watch::Sender::default(),
            accepted: watch::Sender::default(),
            permits: Semaphore::new(0),
            hangs_up: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            held: watch::Sender::new(false),
            unanswered: watch::Sender::default(),
            kick: Notify::new(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&script))).abort_handle();
        Self {
            address,
            script,
            accepting,
        }
    }

    pub(super) fn answer_handshakes(&self, count: usize) {
        self.script.permits.add_permits(count);
    }

    /// From now on, handshakes are answered by closing the socket.
    pub(super) fn hang_up(&self) {
        self.script.hangs_up.store(true, Ordering::SeqCst);
    }

    /// From now on, nothing but handshakes is answered.
    pub(super) fn stop_answering(&self) {
        self.script.silent.store(true, Ordering::SeqCst);
    }

    /// Holds the replies to all requests but handshakes back.
    pub(super) fn hold_replies(&self) {
        self.script.held.send_replace(true);
    }

    /// Ends [`hold_replies`](Self::hold_replies), and sends the replies.
    pub(super) fn release_replies(&self) {
        self.script.held.send_replace(false);
    }

    /// Waits until this number of requests is unanswered.
    pub(super) async fn unanswered(&self, count: usize) {
        let mut unanswered = self.script.unanswered.subscribe();
        unanswered.wait_for(|now| *now == count).await.unwrap();
    }

    /// Closes all sockets.
    pub(super) async fn kick_all(&self) {
        self.script.kick.notify_waiters();
        self.open(0).await;
    }

    /// Waits until this number of sockets is open.
    pub(super) async fn open(&self, count: usize) {
        let mut open = self.script.open.subscribe();
        open.wait_for(|(now, _)| *now == count).await.unwrap();
    }

    /// Waits until this number of handshakes is unanswered.
    pub(super) async fn handshaking(&self, count: usize) {
        let mut handshaking = self.script.handshaking.subscribe();
        handshaking.wait_for(|(now, _)| *now == count).await.unwrap();
    }

    pub(super) fn most_open(&self) -> usize {
        self.script.open.borrow().1
    }

    pub(super) fn most_handshaking(&self) -> usize {
        self.script.handshaking.borrow().1
    }

    pub(super) fn accepted(&self) -> usize {
        *self.script.accepted.borrow()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Counts while it lives.
struct Counted<'a>(&'a watch::Sender<(usize, usize)>);

impl<'a> Counted<'a> {
    fn new(count: &'a watch::Sender<(usize, usize)>) -> Self {
        count.send_modify(|(now, most)| {
            *now += 1;
            *most = (*most).max(*now);
        });
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|(now, _)| *now -= 1);
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>) {
    while let Ok((stream, _)) = listener.accept().await {
        script.accepted.send_modify(|count| *count += 1);
        let script = Arc::clone(&script);
        tokio::spawn(async move {
            let open = Counted::new(&script.open);
            tokio::select! {
                // The client closed the socket, or the script ends the connection.
                _ = serve(&stream, &script) => {}
                () = script.kick.notified() => {}
            }
            drop(stream);
            drop(open);
        });
    }
}

async fn serve(stream: &TcpStream, script: &Script) -> io::Result<()> {
    let mut first = true;
    loop {
        let request = read_message(stream).await?;
        if first {
            let handshaking = Counted::new(&script.handshaking);
            tokio::select! {
                permit = script.permits.acquire() => permit.unwrap().forget(),
                // A client that gives up is noticed.
                gone = read_message(stream) => return gone.map(drop),
            }
            drop(handshaking);
            if script.hangs_up.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
        if !first && script.silent.load(Ordering::SeqCst) {
            script.unanswered.send_modify(|count| *count += 1);
            continue;
        }
        if !first && *script.held.borrow() {
            script.unanswered.send_modify(|count| *count += 1);
            let mut held = script.held.subscribe();
            tokio::select! {
                released = held.wait_for(|held| !*held) => drop(released.unwrap()),
                // A client that closes the connection is noticed.
                gone = read_message(stream) => return gone.map(drop),
            }
        }
        first = false;
        write_all(stream, &reply(&request)).await?;
    }
}

/// Any command is answered as `hello` is.
fn reply(request: &[u8]) -> Vec<u8> {
    let body = rawdoc! {
        "ok": 1.0, "helloOk": true, "isWritablePrimary": true, "minWireVersion": 0, "maxWireVersion": 25,
        "maxBsonObjectSize": 16_777_216, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
    };
    let length = 16 + 5 + body.as_bytes().len();
    let mut message = i32::try_from(length).unwrap().to_le_bytes().to_vec();
    message.extend(1i32.to_le_bytes());
    message.extend(&request[4..8]);
    message.extend(2013i32.to_le_bytes());
    message.extend([0; 5]);
    message.extend(body.as_bytes());
    message
}

async fn read_message(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 16];
    read_exact(stream, &mut message).await?;
    let length = i32::from_le_bytes(message[..4].try_into().unwrap());
    message.resize(usize::try_from(length).unwrap(), 0);
    read_exact(stream, &mut message[16..]).await?;
    Ok(message)
}

async fn read_exact(stream: &TcpStream, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        stream.readable().await?;
        match stream.try_read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
