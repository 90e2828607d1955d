//! A server with precomputed replies: a standalone, a replica set with one member and one with
//! three, in one process on loopback.
//!
//! It replies to handshakes, `ping`, writes, `find` and change streams on the collections of the
//! contract, and `getMore`, as MongoDB 8.0 does; to all other commands with `ok: 1`. The last batch
//! of a change stream has the cursor id 0, so that no client sends `killCursors`. Members of a
//! replica set increment the `$clusterTime` with every reply. Each connection has a thread; a
//! request takes one read, one write and a few stores.
//!
//! With a delay, a client always waits for the reply, so that its instructions do not depend on
//! timing and can be counted.

mod connection;
mod events;
mod replies;
mod request;
mod tweet;

use std::{
    io::{self, Read},
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::Duration,
};

use connection::Cluster;
use replies::{Data, Replies, Role};

/// The name of the replica sets.
pub const SET: &str = "bench";

/// The seconds of the initial `$clusterTime`.
const INITIAL_TIME: u64 = 1_790_000_000;

/// Prints `NAME URI` for each deployment, then serves until standard input is closed.
///
/// # Errors
/// If no port is available.
pub fn run(delay: Option<Duration>) -> io::Result<()> {
    let data = Data::new();
    let standalone = listen(1)?;
    println!("standalone mongodb://{}/", hosts(&standalone)?.join(","));
    serve(standalone, &[Role::Standalone], &data, delay);
    for (name, members) in [("one-node", 1), ("three-node", 3)] {
        let listeners = listen(members)?;
        let hosts = hosts(&listeners)?;
        println!("{name} mongodb://{}/?replicaSet={SET}", hosts.join(","));
        let role = |me| match me {
            0 => Role::Primary { hosts: hosts.clone() },
            me => Role::Secondary {
                hosts: hosts.clone(),
                me,
            },
        };
        let roles: Vec<Role> = (0..members).map(role).collect();
        serve(listeners, &roles, &data, delay);
    }
    drop(data);
    io::copy(&mut io::stdin().take(u64::MAX), &mut io::sink())?;
    Ok(())
}

fn listen(members: usize) -> io::Result<Vec<TcpListener>> {
    (0..members)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect()
}

fn hosts(listeners: &[TcpListener]) -> io::Result<Vec<String>> {
    listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.to_string()))
        .collect()
}

fn serve(listeners: Vec<TcpListener>, roles: &[Role], data: &Data, delay: Option<Duration>) {
    let cluster = Arc::new(Cluster {
        time: AtomicU64::new(INITIAL_TIME << 32),
        delay,
    });
    for (listener, role) in listeners.into_iter().zip(roles) {
        let cluster = cluster.clone();
        let replies = Arc::new(Replies::new(role, data));
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                connection::spawn(stream, cluster.clone(), replies.clone());
            }
        });
    }
}
