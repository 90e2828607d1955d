//! A SOCKS5 proxy on loopback, with or without authentication, that can break the protocol in one
//! configured way. It shares no code with the driver.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, lookup_host},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// The destination of a connection request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A host name, which the proxy resolves.
    Name(String, u16),
    /// An address.
    Address(SocketAddr),
}

/// A fault, which occurs on every connection.
#[derive(Clone, Debug, Default)]
pub enum Socks5Fault {
    /// No fault.
    #[default]
    None,
    /// Sends this many bytes in total, then closes the connection.
    CutAfter(usize),
    /// Sends these bytes instead of the first reply, then nothing.
    Bytes(Vec<u8>),
    /// Sends no reply.
    Hang,
    /// Resets the connection instead of sending the first reply.
    Reset,
    /// Sends this reply code (`REP`) for the request.
    Refuse(u8),
    /// Sends a reply to the request with this address type (`ATYP`) and address.
    BoundAddress(u8, Vec<u8>),
    /// Chooses this method, even if it was not offered.
    Method(u8),
}

/// The settings of a proxy.
#[derive(Clone, Debug, Default)]
pub struct Socks5Settings {
    /// The required user name and password.
    pub login: Option<(String, String)>,
    /// The addresses of destinations given by name and port.
    pub mapped: BTreeMap<(String, u16), SocketAddr>,
    /// The fault of the proxy.
    pub fault: Socks5Fault,
}

#[derive(Debug)]
struct Shared {
    settings: Socks5Settings,
    destinations: Mutex<Vec<Destination>>,
    offers: Mutex<Vec<Vec<u8>>>,
    accepted: watch::Sender<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens on a loopback port until it is dropped. Dropping it also closes its connections.
#[derive(Debug)]
pub struct Socks5Proxy {
    /// The address of the listening socket.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Socks5Proxy {
    /// Starts a proxy.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(settings: Socks5Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            settings,
            destinations: Mutex::default(),
            offers: Mutex::default(),
            accepted: watch::Sender::new(0),
        });
        let own = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            // Dropped with this task, which closes all connections.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                own.accepted.send_modify(|accepted| *accepted += 1);
                let shared = Arc::clone(&own);
                connections.spawn(async move {
                    // An error means that the client has closed the connection or was refused.
                    let _ = serve(client, &shared).await;
                });
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    /// Starts a proxy with this fault.
    pub async fn misbehaving(fault: Socks5Fault) -> Self {
        Self::start(Socks5Settings {
            fault,
            ..Socks5Settings::default()
        })
        .await
    }

    /// The options of a connection string that uses this proxy.
    #[must_use]
    pub fn options(&self) -> String {
        format!("proxyHost=localhost&proxyPort={}", self.address.port())
    }

    /// The requested destinations so far.
    #[must_use]
    pub fn destinations(&self) -> Vec<Destination> {
        lock(&self.shared.destinations).clone()
    }

    /// The methods offered by each connection.
    #[must_use]
    pub fn offers(&self) -> Vec<Vec<u8>> {
        lock(&self.shared.offers).clone()
    }

    /// The number of accepted connections.
    #[must_use]
    pub fn accepted(&self) -> usize {
        *self.shared.accepted.borrow()
    }
}

impl Drop for Socks5Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Writes replies, limited by the fault.
struct Answers<'a> {
    client: &'a mut TcpStream,
    left: Option<usize>,
}

impl Answers<'_> {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let allowed = self.left.map_or(bytes.len(), |left| left.min(bytes.len()));
        self.client.write_all(&bytes[..allowed]).await?;
        if let Some(left) = &mut self.left {
            *left -= allowed;
            if allowed < bytes.len() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
        Ok(())
    }
}

async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let settings = &shared.settings;
    let offered = read_greeting(&mut client).await?;
    lock(&shared.offers).push(offered.clone());
    match &settings.fault {
        Socks5Fault::Bytes(bytes) => {
            client.write_all(bytes).await?;
            return wait_for_end(client).await;
        }
        Socks5Fault::Hang => return wait_for_end(client).await,
        Socks5Fault::Reset => return client.set_zero_linger(),
        _ => {}
    }
    let left = match settings.fault {
        Socks5Fault::CutAfter(count) => Some(count),
        _ => None,
    };
    let mut answers = Answers {
        client: &mut client,
        left,
    };
    if let Socks5Fault::Method(method) = settings.fault {
        answers.send(&[5, method]).await?;
        return wait_for_end(client).await;
    }
    let wanted = if settings.login.is_some() { 2 } else { 0 };
    if !offered.contains(&wanted) {
        answers.send(&[5, 0xFF]).await?;
        return Ok(());
    }
    answers.send(&[5, wanted]).await?;
    if let Some((username, password)) = &settings.login {
        let known = read_login(answers.client).await? == (username.clone(), password.clone());
        answers.send(&[1, u8::from(!known)]).await?;
        if !known {
            return Ok(());
        }
    }
    let destination = read_request(answers.client).await?;
    lock(&shared.destinations).push(destination.clone());
    if let Socks5Fault::Refuse(code) = settings.fault {
        // The bound address is not used by clients.
        return answers.send(&[5, code]).await;
    }
    let target = match &destination {
        Destination::Address(address) => Some(*address),
        Destination::Name(name, port) => match settings.mapped.get(&(name.clone(), *port)) {
            Some(address) => Some(*address),
            None => lookup_host((name.as_str(), *port))
                .await?
                .find(SocketAddr::is_ipv4),
        },
    };
    let connected = match target {
        Some(target) => TcpStream::connect(target).await,
        None => Err(io::ErrorKind::NotFound.into()),
    };
    let Ok(mut server) = connected else {
        return answers.send(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]).await;
    };
    let bound: &[u8] = &[5, 0, 0, 1, 127, 0, 0, 1, 0x10, 0x20];
    match &settings.fault {
        Socks5Fault::BoundAddress(kind, bytes) => {
            answers
                .send(&[&[5, 0, 0, *kind], &bytes[..], &[0x10, 0x20]].concat())
                .await?;
        }
        _ => answers.send(bound).await?,
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

async fn read_greeting(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    if client.read_u8().await? != 5 {
        return Err(broken());
    }
    read_counted(client).await
}

async fn read_counted(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn read_login(client: &mut TcpStream) -> io::Result<(String, String)> {
    if client.read_u8().await? != 1 {
        return Err(broken());
    }
    let username = String::from_utf8(read_counted(client).await?).map_err(io::Error::other)?;
    let password = String::from_utf8(read_counted(client).await?).map_err(io::Error::other)?;
    Ok((username, password))
}

async fn read_request(client: &mut TcpStream) -> io::Result<Destination> {
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let [5, 1, 0, kind] = head else {
        return Err(broken());
    };
    let ip: IpAddr = match kind {
        1 => Ipv4Addr::from(client.read_u32().await?).into(),
        4 => Ipv6Addr::from(client.read_u128().await?).into(),
        3 => {
            let name = String::from_utf8(read_counted(client).await?).map_err(io::Error::other)?;
            return Ok(Destination::Name(name, client.read_u16().await?));
        }
        _ => return Err(broken()),
    };
    Ok(Destination::Address((ip, client.read_u16().await?).into()))
}

async fn wait_for_end(mut client: TcpStream) -> io::Result<()> {
    let mut sink = [0; 256];
    while client.read(&mut sink).await? > 0 {}
    Ok(())
}
