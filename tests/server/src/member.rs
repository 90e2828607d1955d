//! A mongod or mongos process of the deployment: its address, cursors, fail points, operations and
//! accept loop.

use crate::cursor::Cursors;
use crate::deployment::{Deployment, lock};
use crate::fail_point::FailPoints;
use crate::net::{Listeners, Socket, unix};
use crate::operations::Operations;
use crate::wire::connection;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

/// A replica set member, a mongos or the standalone.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) index: usize,
    pub(crate) address: SocketAddr,
    /// The path of the Unix domain socket at which the process also listens.
    unix_path: Option<PathBuf>,
    pub(crate) cursors: Cursors,
    pub(crate) fail_points: FailPoints,
    pub(crate) operations: Operations,
    running: Mutex<Option<Running>>,
    /// Bound to the address while the process is stopped: it refuses connections, and the system does not give the port
    /// to an outgoing connection.
    reserved: Mutex<Option<TcpSocket>>,
}

#[derive(Debug)]
struct Running {
    stop: watch::Sender<bool>,
    forwarded: mpsc::UnboundedSender<TcpStream>,
    accept_loop: JoinHandle<()>,
}

impl Member {
    pub(crate) fn new(index: usize, address: SocketAddr, unix_path: Option<PathBuf>) -> Member {
        Member {
            index,
            address,
            unix_path,
            cursors: Cursors::default(),
            fail_points: FailPoints::default(),
            operations: Operations::default(),
            running: Mutex::default(),
            reserved: Mutex::default(),
        }
    }

    /// Binds the Unix domain socket, if there is one, and starts to accept connections. Must be
    /// called within the server's runtime.
    pub(crate) fn start(
        self: &Arc<Self>,
        listener: TcpListener,
        deployment: &Arc<Deployment>,
    ) -> io::Result<()> {
        let listeners = Listeners {
            tcp: listener,
            unix: self.unix_path.as_deref().map(bind_unix).transpose()?,
        };
        let (stop, stopped) = watch::channel(false);
        let (forwarded, forwarded_streams) = mpsc::unbounded_channel();
        let accept_loop = tokio::spawn(accept(
            listeners,
            Arc::clone(deployment),
            Arc::clone(self),
            forwarded_streams,
            stopped,
        ));
        *lock(&self.running) = Some(Running {
            stop,
            forwarded,
            accept_loop,
        });
        Ok(())
    }

    /// Serves a connection that a load balancer has accepted. Returns the connection if this
    /// process is stopped.
    pub(crate) fn serve_forwarded(&self, stream: TcpStream) -> Result<(), TcpStream> {
        match lock(&self.running).as_ref() {
            Some(running) => running.forwarded.send(stream).map_err(|refused| refused.0),
            None => Err(stream),
        }
    }

    /// Binds the address of the process again and starts to accept connections.
    pub(crate) async fn restart(self: &Arc<Self>, deployment: &Arc<Deployment>) -> io::Result<()> {
        if let Some(reserved) = lock(&self.reserved).take() {
            let listener = reserved
                .listen(BACKLOG)
                .map_err(|error| cannot_listen(self.address, &error))?;
            return self.start(listener, deployment);
        }
        let mut attempts = 0;
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                // The system has given the port to an outgoing connection, which may end.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts < 250 => {
                    attempts += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => return Err(cannot_listen(self.address, &error)),
            }
        };
        self.start(listener, deployment)
    }

    /// Closes the port and every connection, and returns when they are closed.
    pub(crate) async fn stop(&self) {
        let running = lock(&self.running).take();
        if let Some(running) = running {
            running.stop.send_replace(true);
            let _ = running.accept_loop.await;
            // Without it, `restart` binds the address again.
            *lock(&self.reserved) = reserve(self.address).ok();
        }
        self.cursors.clear();
        self.fail_points.clear();
    }
}

/// The number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;

fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Connections to the port may not have ended yet.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// The error of binding an address or a path, with the address or path in its message.
pub(crate) fn cannot_listen(place: impl fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {place}: {error}"))
}

fn bind_unix(path: &Path) -> io::Result<unix::Listener> {
    unix::Listener::bind(path).map_err(|error| cannot_listen(path.display(), &error))
}

async fn accept(
    listeners: Listeners,
    deployment: Arc<Deployment>,
    member: Arc<Member>,
    mut forwarded_streams: mpsc::UnboundedReceiver<TcpStream>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            accepted = listeners.accept() => {
                if let Ok(socket) = accepted {
                    connections.spawn(connection::serve(socket, false, Arc::clone(&deployment), Arc::clone(&member)));
                }
            }
            Some(stream) = forwarded_streams.recv() => {
                let socket = Socket::Tcp(stream);
                connections.spawn(connection::serve(socket, true, Arc::clone(&deployment), Arc::clone(&member)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listeners);
    connections.shutdown().await;
}
