//! A load balancer: hands every new connection to the next mongos behind it.

use crate::member::Member;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A listening load balancer. Connections that it has handed over belong to their mongos.
#[derive(Debug)]
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    accept_loop: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Balancer {
    /// Begins to accept. Must be called within the server's runtime.
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
    let mut turn = 0;
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let mut stream = Some(stream);
                // A mongos that is stopped is passed over; with none left the connection is dropped.
                for _ in 0..targets.len() {
                    let target = &targets[turn % targets.len()];
                    turn += 1;
                    stream = stream.and_then(|stream| target.adopt(stream).err());
                    if stream.is_none() {
                        break;
                    }
                }
            }
        }
    }
}
