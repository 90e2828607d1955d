//! Servers and clients of the tests.

use std::{sync::Arc, time::Duration};

use libtest_mimic::Failed;
use marula_driver::{
    AuthenticationFailure, Client, Error, ErrorKind, KerberosError, KerberosFailure, Result,
    bson::{Document, doc},
    options::ClientOptions,
};
use marula_test_server::TestServer;

use crate::{
    acceptor::{Acceptor, Lie},
    kdc::{ADA, SPECIAL},
};

/// The time limit of a test.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test in its own runtime. Waits for calls of the Kerberos library, which aborts the process if it ends during one:
/// the library's destructors destroy the locks that the call uses.
pub(crate) fn run(test: impl Future<Output = ()>) -> std::result::Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let result = runtime.block_on(async { tokio::time::timeout(LIMIT, test).await });
    runtime.shutdown_timeout(LIMIT);
    result.map_err(|_| format!("did not end within {LIMIT:?}").into())
}

/// A server that accepts the users by Kerberos, and an administrator who sets fail points.
pub(crate) async fn server_with(acceptor: &Arc<Acceptor>) -> TestServer {
    TestServer::builder()
        .auth("root", "hunter2")
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
        .gssapi(Arc::<Acceptor>::clone(acceptor), SPECIAL.into_iter().chain([ADA]))
        .start()
        .await
        .expect("the server starts")
}

pub(crate) async fn server() -> TestServer {
    server_with(&Acceptor::new(Lie::None)).await
}

/// The name of a user as part of a connection string.
pub(crate) fn encoded(user: &str) -> String {
    let bytes = user.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}

/// The connection string of a user on `localhost`, with more options.
pub(crate) fn uri_of(server: &TestServer, user: &str, options: &str) -> String {
    let port = server.addresses()[0].port();
    let user = encoded(user);
    format!(
        "mongodb://{user}@localhost:{port}/?authMechanism=GSSAPI&retryReads=false&appName=kerberos&\
         heartbeatFrequencyMS=500&{options}"
    )
}

pub(crate) fn options_of(server: &TestServer, user: &str, options: &str) -> ClientOptions {
    ClientOptions::parse(&uri_of(server, user, options)).expect("a connection string")
}

/// The user and its database on the server.
pub(crate) async fn user_of(client: &Client) -> Result<(String, String)> {
    let status = client
        .database("test")
        .run_command(doc! { "connectionStatus": 1 })
        .await?;
    let users = status
        .get_document("authInfo")
        .and_then(|info| info.get_array("authenticatedUsers"))
        .expect("the users");
    let user = users[0].as_document().expect("a user");
    let field = |name| user.get_str(name).expect("a text").to_owned();
    Ok((field("user"), field("db")))
}

/// The name of the user, who logs in.
pub(crate) async fn name_of(client: &Client) -> String {
    user_of(client).await.expect("a login").0
}

pub(crate) fn client_with(options: ClientOptions) -> Client {
    Client::with_options(options).expect("a client")
}

/// Asserts that the user logs in with these options.
pub(crate) async fn assert_logs_in(server: &TestServer, user: &str, options: &str) {
    let client = client_with(options_of(server, user, options));
    let (name, database) = user_of(&client).await.expect("a login");
    assert_eq!((name.as_str(), database.as_str()), (user, "$external"));
}

/// The error of a login with these options.
pub(crate) async fn error_of(server: &TestServer, user: &str, options: &str) -> Error {
    let client = client_with(options_of(server, user, options));
    user_of(&client).await.expect_err("a failed login")
}

/// Sets the fail point `failCommand` for the clients of the test.
pub(crate) async fn fail_once(server: &TestServer, command: &str, effect: Document) {
    let mut data = doc! { "failCommands": [command], "appName": "kerberos" };
    data.extend(effect);
    let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
    let client = Client::connect(server.uri()).await.expect("a connection string");
    let admin = client.database("admin");
    admin.run_command(point).await.expect("the fail point is set");
}

/// The cause of a failed authentication.
pub(crate) fn failure(error: &Error) -> &AuthenticationFailure {
    match error.kind() {
        ErrorKind::Authentication(error) => {
            assert_eq!(error.mechanism, "GSSAPI");
            &error.failure
        }
        _ => panic!("{error:?}"),
    }
}

/// Asserts that Kerberos failed for this cause, and that the text contains the part.
pub(crate) fn assert_kerberos<'e>(
    error: &'e Error,
    expected: KerberosFailure,
    part: &str,
) -> &'e KerberosError {
    let AuthenticationFailure::Kerberos(kerberos) = failure(error) else {
        panic!("{error:?}");
    };
    assert_eq!(kerberos.failure, expected, "{error:?}");
    assert!(error.to_string().contains(part), "{part}: {error}");
    kerberos
}
