//! A SOCKS5 proxy on loopback, with or without login, that can also break the protocol in one chosen way. Independent of the
//! driver's own code.

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

/// What a client wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A name to be resolved by the proxy.
    Name(String, u16),
    /// An address.
    Address(SocketAddr),
}

/// What goes wrong, on every connection.
#[derive(Clone, Debug, Default)]
pub enum Mischief {
    /// Nothing.
    #[default]
    None,
    /// As many bytes of all answers together, then the end of the connection.
    CutAfter(usize),
    /// These bytes in place of the first answer, then silence.
    Garbage(Vec<u8>),
    /// Silence from the first answer on.
    Hang,
    /// The connection is reset in place of the first answer.
    Reset,
    /// The reply to the request holds this code.
    Refuse(u8),
    /// The reply to the request holds an address of this type and of these bytes.
    BoundAddress(u8, Vec<u8>),
    /// This method is chosen, whatever was offered.
    Method(u8),
}

/// What the proxy receives from its clients.
#[derive(Clone, Debug, Default)]
pub struct Socks5Settings {
    /// The required user name and password.
    pub login: Option<(String, String)>,
    /// Where destinations by name and port really are.
    pub mapped: BTreeMap<(String, u16), SocketAddr>,
    /// What goes wrong.
    pub mischief: Mischief,
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

/// Listens until it is dropped, which ends its connections.
#[derive(Debug)]
pub struct Socks5Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Socks5Proxy {
    /// Starts a proxy.
    ///
    /// # Panics
    /// When no port can be had.
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
            // Dropped with this task.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                own.accepted.send_modify(|accepted| *accepted += 1);
                let shared = Arc::clone(&own);
                connections.spawn(async move {
                    // An error is the client's end, or a refusal.
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

    /// A proxy that only does this.
    pub async fn misbehaving(mischief: Mischief) -> Self {
        Self::start(Socks5Settings {
            mischief,
            ..Socks5Settings::default()
        })
        .await
    }

    /// Options of a connection string that lead through it.
    #[must_use]
    pub fn options(&self) -> String {
        format!("proxyHost=localhost&proxyPort={}", self.address.port())
    }

    /// What clients have asked to be connected to so far.
    #[must_use]
    pub fn destinations(&self) -> Vec<Destination> {
        lock(&self.shared.destinations).clone()
    }

    /// The methods that each connection offered.
    #[must_use]
    pub fn offers(&self) -> Vec<Vec<u8>> {
        lock(&self.shared.offers).clone()
    }

    /// Connections so far.
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

/// Writes answers, as far as the mischief lets them through.
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
    match &settings.mischief {
        Mischief::Garbage(bytes) => {
            client.write_all(bytes).await?;
            return wait_for_end(client).await;
        }
        Mischief::Hang => return wait_for_end(client).await,
        Mischief::Reset => return client.set_zero_linger(),
        _ => {}
    }
    let left = match settings.mischief {
        Mischief::CutAfter(count) => Some(count),
        _ => None,
    };
    let mut answers = Answers {
        client: &mut client,
        left,
    };
    if let Mischief::Method(method) = settings.mischief {
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
    if let Mischief::Refuse(code) = settings.mischief {
        // No more than a client needs to know.
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
    match &settings.mischief {
        Mischief::BoundAddress(kind, bytes) => {
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
