//! Authentication through the public API: the prose tests of the Authentication specification, and
//! servers that break the protocol.

mod prose;
mod reauthentication;
mod scripted;
mod traffic;
mod untrusted;
mod x509;

use marula_driver::{
    Client, Error, ErrorKind,
    bson::{Document, doc},
    options::{AuthMechanism, ClientOptions, Credential},
};
use marula_test_server::{TestServer, TestServerBuilder};

/// A server whose user `root` has the password `hunter2`, with a low iteration count for speed.
fn with_root_user() -> TestServerBuilder {
    TestServer::builder()
        .auth("root", "hunter2")
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
}

async fn started(builder: TestServerBuilder) -> TestServer {
    builder.start().await.expect("the server starts")
}

/// The connection string without the user.
fn anonymous(server: &TestServer) -> String {
    let uri = server.uri();
    let (_, rest) = uri.split_once('@').expect("a user");
    format!("mongodb://{rest}")
}

/// The connection string with another user and further options.
fn uri_of(server: &TestServer, user: &str, options: &str) -> String {
    let uri = anonymous(server).replacen("mongodb://", &format!("mongodb://{user}@"), 1);
    let joint = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{joint}{options}")
}

/// Runs a command that requires authentication.
async fn list_databases(client: &Client) -> Result<Document, Error> {
    client
        .database("db")
        .run_command(doc! { "listCollections": 1 })
        .await
}

async fn authenticate(uri: &str) -> Result<(), Error> {
    let client = Client::connect(uri).await.expect("a connection string");
    list_databases(&client).await.map(drop)
}

/// As [`authenticate`], with the given credential.
async fn authenticate_with(
    server: &TestServer,
    user: &str,
    password: &str,
    mechanism: Option<AuthMechanism>,
) -> Result<(), Error> {
    let mut options = ClientOptions::parse(&anonymous(server)).expect("a connection string");
    let mut credential = Credential::default().with_password(password);
    credential.username = Some(user.to_owned());
    credential.mechanism = mechanism;
    options.credential = Some(credential);
    let client = Client::with_options(options).expect("a client");
    list_databases(&client).await.map(drop)
}

async fn create_user(server: &TestServer, user: &str, password: &str, mechanisms: &[&str]) {
    let client = Client::connect(server.uri()).await.expect("a connection string");
    let command = doc! { "createUser": user, "pwd": password, "roles": ["root"], "mechanisms": mechanisms };
    client
        .database("admin")
        .run_command(command)
        .await
        .expect("a new user");
}

/// Checks that the server rejected the authentication with this code.
fn assert_rejected(error: &Error, code: i32) {
    assert!(matches!(error.kind(), ErrorKind::Authentication(_)), "{error:?}");
    assert_eq!(error.code(), Some(code), "{error}");
    assert!(error.labels().is_empty(), "{error}");
    assert!(error.address().is_some());
}
