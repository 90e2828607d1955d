//! A DNS server on loopback whose answers a test can change at any time, and a resolver with fixed
//! SRV records.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use marula_driver::internals::{
    DnsLookup, Lookup, LookupError, Resolver,
    srv::{SrvRecord, TxtRecord},
};
use tokio::{net::UdpSocket, sync::watch, task::JoinHandle};

// Record types.
const A: u16 = 1;
const AAAA: u16 = 28;
const SRV: u16 = 33;
const TXT: u16 = 16;
const CNAME: u16 = 5;
const PTR: u16 = 12;
// Response codes.
const SERVER_FAILURE: u8 = 2;
const NO_SUCH_DOMAIN: u8 = 3;

/// The answer to a query for one name and record type.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The data of the records of the requested type, possibly none.
    Records(Vec<Vec<u8>>),
    /// The name does not exist.
    NoSuchDomain,
    /// The server fails (SERVFAIL).
    Failure,
    /// The server sends no reply.
    Silence,
}

type Zone = BTreeMap<(String, u16), Answer>;

#[derive(Debug, Default)]
struct State {
    zone: Mutex<Zone>,
    /// The number of queries for SRV records of each name.
    queries: watch::Sender<BTreeMap<String, usize>>,
    /// The names queried for any record type.
    queried_names: Mutex<BTreeSet<String>>,
}

impl State {
    fn zone(&self) -> MutexGuard<'_, Zone> {
        self.zone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A DNS server on a loopback UDP port until it is dropped. Unknown names do not exist (NXDOMAIN).
/// The TTL of all records is 0.
#[derive(Debug)]
pub struct DnsServer {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl DnsServer {
    /// Starts a server without records.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        let address = socket.local_addr().expect("an address");
        let state = Arc::<State>::default();
        let task_state = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut packet = [0; 2048];
            while let Ok((length, peer)) = socket.recv_from(&mut packet).await {
                if let Some(reply) = reply(&task_state, &packet[..length]) {
                    // The client may have closed its socket.
                    let _ = socket.send_to(&reply, peer).await;
                }
            }
        });
        Self { address, state, task }
    }

    /// A resolver that queries this server.
    #[must_use]
    pub fn resolver(&self) -> Arc<dyn DnsLookup> {
        Arc::new(Resolver::of_name_server(self.address))
    }

    /// Replaces the SRV records of the name.
    pub fn set_srv(&self, name: &str, hosts: &[(&str, u16)]) {
        let records = hosts.iter().map(|(host, port)| srv_data(host, *port)).collect();
        self.set(name, SRV, Answer::Records(records));
    }

    /// Replaces the TXT records of the name. Each record consists of one or more strings.
    pub fn set_txt(&self, name: &str, records: &[&[&str]]) {
        let records = records.iter().map(|strings| txt_data(strings)).collect();
        self.set(name, TXT, Answer::Records(records));
    }

    /// Replaces the A and AAAA records of the name.
    pub fn set_addresses(&self, name: &str, addresses: &[IpAddr]) {
        let records = |is_ipv6: bool| {
            let of_family = addresses.iter().filter(|address| address.is_ipv6() == is_ipv6);
            Answer::Records(of_family.map(address_data).collect())
        };
        self.set_address_answers(name, records(false), records(true));
    }

    /// Replaces the answers for the A and AAAA records of the name.
    pub fn set_address_answers(&self, name: &str, v4: Answer, v6: Answer) {
        self.set(name, A, v4);
        self.set(name, AAAA, v6);
    }

    /// Sets the CNAME record of the name.
    pub fn set_alias(&self, name: &str, target: &str) {
        self.set(name, CNAME, Answer::Records(vec![name_data(target)]));
    }

    /// Sets the PTR record of an IPv4 address.
    ///
    /// # Panics
    /// If the address is one of IPv6.
    pub fn set_host_name(&self, address: IpAddr, name: &str) {
        let IpAddr::V4(address) = address else {
            panic!("{address} is not an IPv4 address");
        };
        let [a, b, c, d] = address.octets();
        let owner = format!("{d}.{c}.{b}.{a}.in-addr.arpa");
        self.set(&owner, PTR, Answer::Records(vec![name_data(name)]));
    }

    /// The names that have been queried, for any record type.
    #[must_use]
    pub fn asked(&self) -> BTreeSet<String> {
        self.state
            .queried_names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the answer for the SRV records of the name.
    pub fn set_srv_answer(&self, name: &str, answer: Answer) {
        self.set(name, SRV, answer);
    }

    fn set(&self, name: &str, kind: u16, answer: Answer) {
        self.state
            .zone()
            .insert((name.to_ascii_lowercase(), kind), answer);
    }

    /// How many queries for SRV records of the name have been received.
    #[must_use]
    pub fn queries(&self, name: &str) -> usize {
        self.state.queries.borrow().get(name).copied().unwrap_or(0)
    }

    /// Waits until `count` queries for SRV records of the name have been received.
    pub async fn wait_for_queries(&self, name: &str, count: usize) {
        self.state
            .queries
            .subscribe()
            .wait_for(|queries| queries.get(name).is_some_and(|seen| *seen >= count))
            .await
            .expect("`self` owns the sender");
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The reply to a query. `None` for a malformed query and for [`Answer::Silence`].
fn reply(state: &State, query: &[u8]) -> Option<Vec<u8>> {
    // The question follows the header of 12 bytes: name, type, class.
    let (name, end) = read_name(query, 12)?;
    let kind = u16::from_be_bytes(query.get(end..end + 2)?.try_into().ok()?);
    let question = query.get(12..end + 4)?;
    state
        .queried_names
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(name.clone());
    let zone = state.zone();
    let answer = zone.get(&(name.clone(), kind)).cloned();
    let exists = zone.keys().any(|(known, _)| *known == name);
    drop(zone);
    if kind == SRV {
        state
            .queries
            .send_modify(|queries| *queries.entry(name).or_default() += 1);
    }
    let (code, records) = match answer {
        Some(Answer::Records(records)) => (0, records),
        Some(Answer::Silence) => return None,
        Some(Answer::Failure) => (SERVER_FAILURE, Vec::new()),
        Some(Answer::NoSuchDomain) => (NO_SUCH_DOMAIN, Vec::new()),
        None if exists => (0, Vec::new()),
        None => (NO_SUCH_DOMAIN, Vec::new()),
    };
    let mut reply = query.get(..2)?.to_vec();
    // Flags: response, recursion desired, recursion available, and the response code. Then the
    // number of questions, of answers, of authority records and of additional records.
    reply.extend([0x81, 0x80 | code]);
    for count in [1, u16::try_from(records.len()).ok()?, 0, 0] {
        reply.extend(count.to_be_bytes());
    }
    reply.extend(question);
    for data in records {
        // A pointer to the name in the question, the type, the class IN, a TTL of 0.
        reply.extend([0xC0, 12]);
        reply.extend(kind.to_be_bytes());
        reply.extend([0, 1, 0, 0, 0, 0]);
        reply.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
        reply.extend(data);
    }
    Some(reply)
}

/// Decodes the name that begins at `at`. Returns it in lower case, with the offset of its end.
fn read_name(packet: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        let label = packet.get(at..at + length)?;
        labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at += length;
    }
}

fn address_data(address: &IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn srv_data(host: &str, port: u16) -> Vec<u8> {
    // Priority 0, weight 5.
    let mut data = vec![0, 0, 0, 5];
    data.extend(port.to_be_bytes());
    data.extend(name_data(host));
    data
}

fn name_data(name: &str) -> Vec<u8> {
    let mut data = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        data.push(u8::try_from(label.len()).unwrap_or(0));
        data.extend(label.as_bytes());
    }
    data.push(0);
    data
}

fn txt_data(strings: &[&str]) -> Vec<u8> {
    let mut data = Vec::new();
    for text in strings {
        data.push(u8::try_from(text.len()).unwrap_or(0));
        data.extend(text.as_bytes());
    }
    data
}

/// A resolver with fixed SRV records and no other records. It also has records for names such as
/// `localhost`, for which [`Resolver`] queries no server.
#[derive(Clone, Debug, Default)]
pub struct CannedDns {
    srv: BTreeMap<String, Vec<SrvRecord>>,
}

impl CannedDns {
    /// Adds one SRV record for `_mongodb._tcp.` and the host name.
    #[must_use]
    pub fn with_srv(mut self, hostname: &str, target: &str, port: u16) -> Self {
        self.srv
            .entry(format!("_mongodb._tcp.{hostname}"))
            .or_default()
            .push(SrvRecord {
                target: target.to_owned(),
                port,
                ttl: Duration::from_secs(60),
            });
        self
    }
}

impl DnsLookup for CannedDns {
    fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord> {
        Box::pin(async move {
            let records = self.srv.get(name).cloned();
            records.ok_or_else(|| LookupError::NoRecords(format!("no records for {name}")))
        })
    }

    fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord> {
        Box::pin(async move { Err(LookupError::NoRecords(format!("no records for {name}"))) })
    }
}
