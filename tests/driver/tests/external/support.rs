//! Servers, clients and callbacks of the tests.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::{
    AuthenticationFailure, Client, Collection, Error, ErrorKind, Result,
    bson::{Document, doc},
    options::{ClientOptions, Credential, OidcCallback, OidcCallbackParams, OidcCredential},
};
use marula_test_server::{TestServer, TestServerBuilder};

/// A valid access token.
pub(crate) const GOOD: &str = "token-of-test_user1";
/// An access token that the server does not accept.
pub(crate) const BAD: &str = "token-that-is-wrong";

/// A server with the valid token, and an administrator who sets fail points.
pub(crate) fn oidc_server() -> TestServerBuilder {
    TestServer::builder()
        .auth("root", "hunter2")
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
        .oidc_token(GOOD, "test_user1")
}

pub(crate) async fn started(builder: TestServerBuilder) -> TestServer {
    builder.start().await.expect("the server starts")
}

/// The connection string without the administrator, with the options.
pub(crate) fn uri_of(server: &TestServer, options: &str) -> String {
    let uri = server.uri();
    let rest = uri.split_once('@').map_or("", |(_, rest)| rest);
    let joint = if rest.contains('?') { '&' } else { '?' };
    format!("mongodb://{rest}{joint}{options}")
}

/// Options for the server with this credential and without retries. The heartbeat limits the time to
/// recovery from an authentication error: the monitor waits for the next one.
pub(crate) fn options_of(server: &TestServer, credential: Credential, options: &str) -> ClientOptions {
    let uri = uri_of(
        server,
        &format!("retryReads=false&appName=oidc&heartbeatFrequencyMS=500&{options}"),
    );
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    options.credential = Some(credential);
    options
}

/// A client of the server with this credential and without retries.
pub(crate) fn client_of(server: &TestServer, credential: Credential) -> Client {
    Client::with_options(options_of(server, credential, "")).expect("a client")
}

pub(crate) fn things(client: &Client) -> Collection<Document> {
    client.database("test").collection("test")
}

pub(crate) async fn find(client: &Client) -> Result<()> {
    things(client).find_one(doc! {}).await.map(drop)
}

/// Sets the fail point `failCommand` for clients named `oidc`.
pub(crate) async fn fail(server: &TestServer, times: i32, command: &str, effect: Document) {
    let mut data = doc! { "failCommands": [command], "appName": "oidc" };
    data.extend(effect);
    let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
    let client = Client::connect(server.uri()).await.expect("a connection string");
    let admin = client.database("admin");
    admin.run_command(point).await.expect("the fail point is set");
}

/// Requires reauthentication for the next command with this name.
pub(crate) async fn require_reauthentication(server: &TestServer, command: &str) {
    fail(server, 1, command, doc! { "errorCode": 391 }).await;
}

/// A callback that records its calls.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    calls: Arc<AtomicUsize>,
    params: Arc<Mutex<Vec<OidcCallbackParams>>>,
}

impl Recorder {
    /// The callback. `answer` maps the number of the call, from 1, to the result.
    pub(crate) fn callback(
        &self,
        answer: impl Fn(usize) -> std::result::Result<OidcCredential, &'static str> + Send + Sync + 'static,
    ) -> OidcCallback {
        let recorder = self.clone();
        OidcCallback::new(move |params| {
            let call = recorder.calls.fetch_add(1, Ordering::SeqCst) + 1;
            recorder.lock().push(params);
            let answer = answer(call);
            async move { answer.map_err(Into::into) }
        })
    }

    /// A callback that always returns the valid token.
    pub(crate) fn good(&self) -> OidcCallback {
        self.callback(|_| Ok(OidcCredential::new(GOOD)))
    }

    /// A callback that returns the valid token, and afterwards another one.
    pub(crate) fn good_then_bad(&self) -> OidcCallback {
        self.callback(|call| Ok(OidcCredential::new(if call == 1 { GOOD } else { BAD })))
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// What the calls received.
    pub(crate) fn params(&self) -> Vec<OidcCallbackParams> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<OidcCallbackParams>> {
        self.params.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that is removed at the end of the test.
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    pub(crate) fn new(token: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("marula-token-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, token).expect("the file is written");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The cause of a failed authentication.
pub(crate) fn failure(error: &Error) -> &AuthenticationFailure {
    match error.kind() {
        ErrorKind::Authentication(error) => &error.failure,
        _ => panic!("{error:?}"),
    }
}

/// The text of a failure to obtain a token or credentials.
pub(crate) fn missing(error: &Error) -> &str {
    match failure(error) {
        AuthenticationFailure::Credentials(why) => why,
        other => panic!("{other:?}"),
    }
}

/// Asserts that the server rejected the authentication with this code.
pub(crate) fn assert_refused(error: &Error, code: i32) {
    assert!(
        matches!(failure(error), AuthenticationFailure::Refused(_)),
        "{error:?}"
    );
    assert_eq!(error.code(), Some(code));
}
