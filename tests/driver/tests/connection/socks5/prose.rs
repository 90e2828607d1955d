//! The prose tests of the SOCKS5 specification.

use std::{collections::BTreeMap, net::SocketAddr};

use marula_driver::{
    Client, Error,
    bson::{Document, doc},
    event::CommandEvent,
    internals::wait_for_description,
    options::{ClientOptions, Proxy},
};
use marula_driver_tests::{
    CommandRecorder,
    socks5::{Socks5Proxy, Socks5Settings},
    tls::{Authority, Files, TlsTerminator},
};
use marula_test_server::TestServer;

const NAMES: [&str; 3] = ["a.set.test", "b.set.test", "c.set.test"];

/// A replica set whose host names only the proxies can resolve.
struct Deployment {
    _set: TestServer,
    _fronts: Vec<TlsTerminator>,
    files: Files,
    authority: Option<Authority>,
    /// A proxy with user `username` and password `p4ssw0rd`.
    closed: Socks5Proxy,
    /// A proxy without authentication.
    open: Socks5Proxy,
}

#[derive(Clone, Copy)]
enum Hosts {
    /// One member, with a host name and a port where nothing listens.
    Mapped,
    All,
}

type Login = Option<(&'static str, &'static str)>;

impl Deployment {
    async fn start(encrypted: bool) -> Self {
        let advertised = NAMES.map(|name| format!("{name}:27017"));
        let builder = TestServer::builder().replica_set().advertised_hosts(advertised);
        let set = builder.start().await.expect("the set starts");
        let mut members: Vec<SocketAddr> = set.addresses();
        let mut terminators = Vec::new();
        let authority = encrypted.then(Authority::new);
        if let Some(authority) = &authority {
            let names = [&NAMES[..], &["localhost"]].concat();
            for member in &mut members {
                let terminator = TlsTerminator::start(&authority.issue(&names), *member).await;
                *member = terminator.address;
                terminators.push(terminator);
            }
        }
        let mut mapped: BTreeMap<(String, u16), SocketAddr> = NAMES
            .iter()
            .zip(&members)
            .map(|(name, member)| (((*name).to_owned(), 27017), *member))
            .collect();
        mapped.insert(("localhost".to_owned(), 12345), members[0]);
        let settings = Socks5Settings {
            mapped,
            ..Socks5Settings::default()
        };
        let login = Some(("username".to_owned(), "p4ssw0rd".to_owned()));
        Self {
            closed: Socks5Proxy::start(Socks5Settings {
                login,
                ..settings.clone()
            })
            .await,
            open: Socks5Proxy::start(settings).await,
            _set: set,
            _fronts: terminators,
            files: Files::new(),
            authority,
        }
    }

    /// The connection string without the proxy.
    fn uri(&self, hosts: Hosts) -> String {
        let mut uri = match hosts {
            Hosts::Mapped => "mongodb://localhost:12345/?directConnection=true".to_owned(),
            Hosts::All => format!("mongodb://{}/?replicaSet=rs0", NAMES.join(",")),
        };
        if let Some(authority) = &self.authority {
            let file = self.files.write("ca.pem", &authority.pem());
            uri = format!("{uri}&tls=true&tlsCAFile={file}");
        }
        uri
    }

    async fn row(&self, number: u8, hosts: Hosts, proxy: &Socks5Proxy, login: Login, succeeds: bool) {
        // Only rows that are expected to fail use the whole timeout, after the cause is known.
        let patience = if succeeds { 60_000 } else { 50 };
        let uri = format!("{}&serverSelectionTimeoutMS={patience}", self.uri(hosts));
        let in_string = match login {
            None => format!("{uri}&{}", proxy.options()),
            Some((user, password)) => {
                let login = format!("proxyUsername={user}&proxyPassword={password}");
                format!("{uri}&{}&{login}", proxy.options())
            }
        };
        let mut as_options = ClientOptions::parse(&uri).expect("valid options");
        let mut settings = Proxy::new("localhost");
        settings.port = Some(proxy.address.port());
        if let Some((user, password)) = login {
            settings = settings.with_password(password);
            settings.username = Some(user.to_owned());
        }
        as_options.proxy = Some(settings);
        for options in [
            ClientOptions::parse(&in_string).expect("valid options"),
            as_options,
        ] {
            let client = Client::with_options(options).expect("a client");
            if !succeeds {
                wait_for_description(&client, |text| text.contains("through the proxy")).await;
            }
            match hello(&client).await {
                Ok(_) => assert!(succeeds, "row {number} succeeds"),
                Err(error) => {
                    assert!(!succeeds, "row {number}: {error}");
                    assert!(format!("{error:#}").contains("through the proxy"), "{error:#}");
                    assert!(!format!("{error:#} {error:?}").contains("badauth"), "{error}");
                }
            }
        }
    }

    async fn table(&self) {
        use Hosts::{All, Mapped};
        let wrong = Some(("nonexistentuser", "badauth"));
        let right = Some(("username", "p4ssw0rd"));
        let (closed, open) = (&self.closed, &self.open);
        self.row(1, Mapped, closed, None, false).await;
        self.row(2, Mapped, open, None, true).await;
        self.row(3, All, closed, None, false).await;
        self.row(4, All, open, None, true).await;
        self.row(5, Mapped, closed, wrong, false).await;
        self.row(6, Mapped, open, wrong, true).await;
        self.row(7, All, open, wrong, true).await;
        self.row(8, Mapped, closed, right, true).await;
        self.row(9, Mapped, open, None, true).await;
        self.row(10, All, closed, right, true).await;
        self.row(11, All, open, None, true).await;
    }
}

async fn hello(client: &Client) -> Result<Document, Error> {
    client.database("admin").run_command(doc! { "hello": 1 }).await
}

#[tokio::test]
async fn socks5_support_prose_table() {
    Deployment::start(false).await.table().await;
}

#[tokio::test]
async fn socks5_support_prose_table_with_tls() {
    Deployment::start(true).await.table().await;
}

#[tokio::test]
async fn socks5_support_prose_events() {
    let world = Deployment::start(false).await;
    for hosts in [Hosts::Mapped, Hosts::All] {
        let recorder = CommandRecorder::default();
        let client = recorder.client_of(&format!("{}&{}", world.uri(hosts), world.open.options()));
        hello(&client).await.expect("an answer");
        let events = recorder.take();
        assert_eq!(events.len(), 2, "started and succeeded");
        for event in events {
            let connection = match event {
                CommandEvent::Started(event) => event.connection,
                CommandEvent::Succeeded(event) => event.connection,
                other => panic!("{other:?}"),
            };
            let (name, port) = match hosts {
                Hosts::Mapped => (connection.address.host() == "localhost", 12345),
                Hosts::All => (NAMES.contains(&&*connection.address.host()), 27017),
            };
            assert!(name, "{connection:?}");
            assert_eq!(connection.address.port(), Some(port));
        }
    }
}
