//! The negotiation: method selection, authentication, and request.

// Only the address types of `std::net` are used, no sockets.
use core::net::IpAddr;
use std::fmt;

use super::{MAX_TEXT, Socks5Error};
use crate::types::secret::Secret;

const VERSION: u8 = 5;
const AUTHENTICATION_VERSION: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const USERNAME_PASSWORD: u8 = 2;
const NO_ACCEPTABLE_METHOD: u8 = 0xFF;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const DOMAIN_NAME: u8 = 3;
const IPV6: u8 = 4;

/// The credentials for a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    username: String,
    password: Secret,
}

/// The next step. `Debug` prints no bytes, which may contain the password.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// Send these bytes, if any, then read a number of bytes and pass them to
    /// [`Negotiation::handle`].
    Exchange {
        /// The bytes to send.
        send: Vec<u8>,
        /// The exact number of bytes to read; never 0.
        read: usize,
    },
    /// The proxy is connected to the server. The following bytes of the stream are exchanged with
    /// the server.
    Done,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange { send, read } => write!(f, "Exchange({} bytes, {read} bytes)", send.len()),
            Self::Done => f.write_str("Done"),
        }
    }
}

/// The state of a negotiation.
#[derive(Debug)]
pub struct Negotiation {
    request: Vec<u8>,
    credentials: Option<Credentials>,
    state: State,
}

/// What the next bytes contain.
#[derive(Clone, Copy, Debug)]
enum State {
    Method,
    Login,
    /// Version and code of the reply. They are read first, because a proxy that rejects the request
    /// may close the connection after them.
    ConnectReply,
    /// The reserved byte, the type of the address, and the first byte of the address.
    AddressType,
    Address,
}

impl Credentials {
    /// `None` if a part is empty or longer than [`MAX_TEXT`] bytes.
    pub(crate) fn new(username: &str, password: &Secret) -> Option<Self> {
        let fits = |text: &str| (1..=MAX_TEXT).contains(&text.len());
        (fits(username) && fits(password.expose())).then(|| Self {
            username: username.to_owned(),
            password: password.clone(),
        })
    }
}

impl Negotiation {
    /// Starts the negotiation of a connection to the host. The proxy resolves the host name, unless
    /// it is an IP address.
    ///
    /// # Errors
    /// The host name is empty or too long.
    pub fn begin(
        host: &str,
        port: u16,
        credentials: Option<Credentials>,
    ) -> Result<(Self, Step), Socks5Error> {
        let methods: &[u8] = match credentials {
            None => &[NO_AUTHENTICATION],
            Some(_) => &[NO_AUTHENTICATION, USERNAME_PASSWORD],
        };
        let mut method_request = vec![VERSION];
        push_counted(&mut method_request, methods).ok_or(Socks5Error::HostName)?;
        let negotiation = Self {
            request: request(host, port).ok_or(Socks5Error::HostName)?,
            credentials,
            state: State::Method,
        };
        let step = Step::Exchange {
            send: method_request,
            read: 2,
        };
        Ok((negotiation, step))
    }

    /// Handles the bytes that the last step requested.
    ///
    /// # Errors
    /// The proxy rejected the request, or the bytes are not SOCKS5.
    pub fn handle(&mut self, answer: &[u8]) -> Result<Step, Socks5Error> {
        let byte = |index: usize| answer.get(index).copied().unwrap_or_default();
        match self.state {
            State::Method => {
                check_version(byte(0))?;
                match (byte(1), self.credentials.take()) {
                    (NO_AUTHENTICATION, _) => Ok(self.send_request()),
                    (USERNAME_PASSWORD, Some(credentials)) => {
                        self.state = State::Login;
                        let send = login(&credentials).ok_or(Socks5Error::LoginRefused)?;
                        Ok(Step::Exchange { send, read: 2 })
                    }
                    (NO_ACCEPTABLE_METHOD, credentials) => Err(Socks5Error::NoMethod {
                        login_offered: credentials.is_some(),
                    }),
                    (method, _) => Err(Socks5Error::UnofferedMethod(method)),
                }
            }
            // Not checked: some proxies send the SOCKS version instead of that of the
            // subnegotiation (RFC 1929).
            State::Login => match byte(1) {
                0 => Ok(self.send_request()),
                _ => Err(Socks5Error::LoginRefused),
            },
            State::ConnectReply => {
                check_version(byte(0))?;
                match byte(1) {
                    0 => Ok(self.read(State::AddressType, 3)),
                    code => Err(Socks5Error::Refused(code)),
                }
            }
            State::AddressType => {
                const PORT: usize = 2;
                // One byte of the address has been read: its first byte, or the length of a name.
                let rest = match byte(1) {
                    IPV4 => 4 - 1 + PORT,
                    IPV6 => 16 - 1 + PORT,
                    DOMAIN_NAME => usize::from(byte(2)) + PORT,
                    kind => return Err(Socks5Error::AddressType(kind)),
                };
                Ok(self.read(State::Address, rest))
            }
            // `BND.ADDR`, the proxy's own address towards the server, is not needed.
            State::Address => Ok(Step::Done),
        }
    }

    fn send_request(&mut self) -> Step {
        self.state = State::ConnectReply;
        Step::Exchange {
            send: std::mem::take(&mut self.request),
            read: 2,
        }
    }

    fn read(&mut self, state: State, count: usize) -> Step {
        self.state = state;
        Step::Exchange {
            send: Vec::new(),
            read: count,
        }
    }
}

fn check_version(version: u8) -> Result<(), Socks5Error> {
    match version {
        VERSION => Ok(()),
        _ => Err(Socks5Error::Version(version)),
    }
}

/// The CONNECT request. `None` if the host name is empty or too long.
fn request(host: &str, port: u16) -> Option<Vec<u8>> {
    let mut request = vec![VERSION, CONNECT, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend(address.octets());
        }
        Err(_) if host.is_empty() => return None,
        Err(_) => {
            request.push(DOMAIN_NAME);
            push_counted(&mut request, host.as_bytes())?;
        }
    }
    request.extend(port.to_be_bytes());
    Some(request)
}

fn login(credentials: &Credentials) -> Option<Vec<u8>> {
    let mut message = vec![AUTHENTICATION_VERSION];
    push_counted(&mut message, credentials.username.as_bytes())?;
    push_counted(&mut message, credentials.password.expose().as_bytes())?;
    Some(message)
}

/// Appends the length and the bytes. `None` if the length does not fit in one byte.
fn push_counted(buffer: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    buffer.push(u8::try_from(bytes.len()).ok()?);
    buffer.extend(bytes);
    Some(())
}
