//! A server whose replies are made before: a standalone, a set of one and a set of three, in one process on loopback.
//!
//! It answers greetings, ping, writes, finds of the collections that the contract names, and getMore, as a server of version
//! 8.0 does; everything else with `ok: 1`. Members of sets put a `$clusterTime` into every reply that is later than
//! the one before. A request costs it one read, one write and a few stores, each connection has a thread.
//!
//! With a delay, clients wait for every reply. What a client does then does not depend on which was faster, and its
//! instructions can be counted.

mod connection;
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

/// The name of both replica sets.
pub const SET: &str = "bench";

/// The later half of the time that clusters begin with: seconds since 1970.
const BEGINNING: u64 = 1_790_000_000;

/// Prints `NAME URI` for each deployment, then serves until standard input ends.
///
/// # Errors
/// When no port can be had.
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
        time: AtomicU64::new(BEGINNING << 32),
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
