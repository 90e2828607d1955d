//! Runs the shop on a free port, with a minimal HTTP client.

use std::net::SocketAddr;
use std::ops::Deref;

use marula::driver::options::ClientOptions;
use marula::schema::SchemaPlan;
use marula::{Client, Database};
use marula_examples::shop::{Shop, router::serve, sync_indexes};
use marula_test_server::TestServer;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use uuid::Uuid;

/// A running HTTP server of the shop.
pub(crate) struct Served {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub(crate) async fn start(db: &Database) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let shop = Shop::new(db);
        let served = tokio::spawn(serve(listener, shop, async {
            let _ = stopped.await;
        }));
        Served {
            address,
            stop,
            served,
        }
    }

    /// Stops the server as Ctrl-C does, and checks that it returns without an error.
    pub(crate) async fn stop(self) {
        self.stop.send(()).expect("the shop runs");
        let served = self.served.await.expect("no panic");
        served.expect("no error of the listener");
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<&str>) -> Reply {
        let length = body.map_or(0, str::len);
        let kind = body.map_or("", |_| "content-type: application/json\r\n");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n{kind}content-length: {length}\r\n\r\n{}",
            body.unwrap_or_default()
        );
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("a reply");
        Reply::parse(&reply)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, Some(&body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send("PATCH", path, Some(&body.to_string())).await
    }
}

/// A shop with an empty database, on an in-process server or on `MONGODB_URI`.
pub(crate) struct App {
    pub(crate) db: Database,
    pub(crate) plan: SchemaPlan,
    /// The in-process server; `None` with `MONGODB_URI`.
    pub(crate) server: Option<TestServer>,
    pub(crate) client: Client,
    shop: Served,
}

impl Deref for App {
    type Target = Served;
    fn deref(&self) -> &Served {
        &self.shop
    }
}

impl App {
    /// `None`, with the reason printed, if `MONGODB_URI` does not support the indexes of the shop.
    pub(crate) async fn start() -> Option<Self> {
        let (server, uri) = match std::env::var("MONGODB_URI") {
            Ok(uri) => (None, uri),
            Err(_) => {
                let server = TestServer::builder().start().await.expect("a server");
                let uri = server.uri();
                (Some(server), uri)
            }
        };
        let name = format!("shop_{}", Uuid::now_v7().simple());
        let options = ClientOptions::parse(&uri).expect("a connection string");
        let mut options = options
            .resolve()
            .await
            .expect("the hosts of the connection string");
        // Fail points are those of one mongos.
        if options.replica_set.is_none() {
            options.hosts.truncate(1);
        }
        // Fail points for this name do not affect other tests on the same deployment.
        options.app_name = Some(name.clone());
        let client = Client::with_options(options).expect("a client");
        let db = client.database(&name);
        let plan = match sync_indexes(&db).await {
            Ok(plan) => plan,
            Err(error) if server.is_none() && is_unsupported(&error) => {
                eprintln!("skipped: the deployment does not support the indexes: {error}");
                client.shutdown().await;
                return None;
            }
            Err(error) => panic!("indexes: {error}"),
        };
        let shop = Served::start(&db).await;
        Some(App {
            db,
            plan,
            server,
            client,
            shop,
        })
    }

    pub(crate) async fn stop(self) {
        self.shop.stop().await;
        self.db.driver().drop().await.expect("the database is dropped");
        self.client.shutdown().await;
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}

/// Whether the server does not support a command or option: `CommandNotFound`,
/// `CommandNotSupported`, `NotImplemented`, or a message that says so.
fn is_unsupported(error: &marula::Error) -> bool {
    let text = error.to_string();
    matches!(
        error.driver().and_then(marula::driver::Error::code),
        Some(59 | 115 | 238)
    ) || text.contains("not implemented")
        || text.contains("not supported")
        || text.contains("not yet supported")
}

/// A response. An empty body is `Value::Null`.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    headers: Vec<(String, String)>,
}

impl Reply {
    fn parse(reply: &str) -> Self {
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
        let (status, headers) = head.split_once("\r\n").expect("headers");
        let status = status.strip_prefix("HTTP/1.1 ").expect("a status line");
        let headers = headers.lines().filter_map(|line| line.split_once(": "));
        Reply {
            status: status[..3].parse().expect("a status"),
            body: if body.is_empty() {
                Value::Null
            } else {
                serde_json::from_str(body).expect("a JSON body")
            },
            headers: headers.map(|(k, v)| (k.to_lowercase(), v.to_owned())).collect(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        self.body.to_string()
    }

    pub(crate) fn id(&self) -> String {
        self.body["id"].as_str().expect("an id").to_owned()
    }

    /// The ids of a list.
    pub(crate) fn ids(&self) -> Vec<String> {
        let items = self.body["items"].as_array().expect("a list");
        let id = |item: &Value| item["id"].as_str().expect("an id").to_owned();
        items.iter().map(id).collect()
    }

    /// The invalid fields that the response names.
    pub(crate) fn problems(&self) -> Vec<&str> {
        let problems = self.body["problems"].as_array().expect("problems");
        problems.iter().filter_map(|p| p["field"].as_str()).collect()
    }
}
