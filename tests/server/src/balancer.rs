//! A load balancer: forwards each accepted connection to the next mongos, round robin.

use crate::member::Member;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A running load balancer. Forwarded connections are owned by their mongos and outlive it.
#[derive(Debug)]
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    accept_loop: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Balancer {
    /// Starts to accept connections. Must be called within the server's runtime.
    pub(crate) fn start(listener: TcpListener, address: SocketAddr, targets: Vec<Arc<Member>>) -> Balancer {
        let (stop, stopped) = watch::channel(false);
        let accept_loop = tokio::spawn(accept(listener, targets, stopped));
        Balancer {
            address,
            stop,
            accept_loop: std::sync::Mutex::new(Some(accept_loop)),
        }
    }

    /// Closes the port.
    pub(crate) async fn stop(&self) {
        self.stop.send_replace(true);
        let accept_loop = crate::deployment::lock(&self.accept_loop).take();
        if let Some(accept_loop) = accept_loop {
            let _ = accept_loop.await;
        }
    }
}

async fn accept(listener: TcpListener, targets: Vec<Arc<Member>>, mut stopped: watch::Receiver<bool>) {
    let mut next = 0;
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let mut stream = Some(stream);
                // Stopped mongos are skipped; the connection is closed if all are stopped.
                for _ in 0..targets.len() {
                    let target = &targets[next % targets.len()];
                    next += 1;
                    stream = stream.and_then(|stream| target.serve_forwarded(stream).err());
                    if stream.is_none() {
                        break;
                    }
                }
            }
        }
    }
}
