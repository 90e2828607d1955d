//! The prose tests of the MongoDB Handshake specification.

use std::{path::PathBuf, time::Duration};

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::{Environment, Variables},
    options::{ClientOptions, DriverInfo},
};
use marula_driver_tests::{Observer, standalone};

const JAVA: (&str, &str) = ("AWS_EXECUTION_ENV", "AWS_Lambda_java8");

/// An environment with these variables only.
fn environment<const N: usize>(variables: [(&str, &str); N]) -> Environment {
    Environment {
        variables: Variables::fixed(variables),
        docker_marker: PathBuf::from("/no/such/marker"),
        ..Environment::default()
    }
}

async fn ping(client: &Client) {
    let reply = client.database("admin").run_command(doc! { "ping": 1 }).await;
    reply.expect("the ping succeeds");
}

/// `client.env` of the handshake in an environment with these variables. A test server accepts the
/// handshake.
async fn env<const N: usize>(variables: [(&str, &str); N]) -> Option<Document> {
    let environment = environment(variables);
    let deployment = standalone().await;
    let accepted = environment
        .connect(&deployment.server.uri())
        .await
        .expect("a client");
    ping(&accepted).await;
    let observer = Observer::start(doc! {}).await;
    let client = environment.connect(&observer.uri("")).await.expect("a client");
    ping(&client).await;
    let handshakes = observer.handshakes_of("ping");
    let metadata = handshakes[0].get_document("client").expect("metadata");
    assert!(marula_driver::bson::to_vec(metadata).expect("bytes").len() <= 512);
    metadata.get_document("env").ok().cloned()
}

#[tokio::test]
async fn mongodb_handshake_prose_env_1() {
    let lambda = [
        JAVA,
        ("AWS_REGION", "us-east-2"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024"),
    ];
    let expected = doc! { "name": "aws.lambda", "memory_mb": 1024, "region": "us-east-2" };
    assert_eq!(env(lambda).await, Some(expected));
}

#[tokio::test]
async fn mongodb_handshake_prose_env_2() {
    let env = env([("FUNCTIONS_WORKER_RUNTIME", "node")]).await;
    assert_eq!(env, Some(doc! { "name": "azure.func" }));
}

#[tokio::test]
async fn mongodb_handshake_prose_env_3() {
    let gcp = [
        ("K_SERVICE", "servicename"),
        ("FUNCTION_MEMORY_MB", "1024"),
        ("FUNCTION_TIMEOUT_SEC", "60"),
        ("FUNCTION_REGION", "us-central1"),
    ];
    let expected = doc! { "name": "gcp.func", "timeout_sec": 60, "memory_mb": 1024, "region": "us-central1" };
    assert_eq!(env(gcp).await, Some(expected));
}

#[tokio::test]
async fn mongodb_handshake_prose_env_4() {
    let env = env([("VERCEL", "1"), ("VERCEL_REGION", "cdg1")]).await;
    assert_eq!(env, Some(doc! { "name": "vercel", "region": "cdg1" }));
}

#[tokio::test]
async fn mongodb_handshake_prose_env_5() {
    assert_eq!(env([JAVA, ("FUNCTIONS_WORKER_RUNTIME", "node")]).await, None);
}

#[tokio::test]
async fn mongodb_handshake_prose_env_6() {
    let region = "a".repeat(512);
    let env = env([JAVA, ("AWS_REGION", &region)]).await;
    assert_eq!(env, Some(doc! { "name": "aws.lambda" }));
}

#[tokio::test]
async fn mongodb_handshake_prose_env_7() {
    let env = env([JAVA, ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "big")]).await;
    assert_eq!(env, Some(doc! { "name": "aws.lambda" }));
}

#[tokio::test]
async fn mongodb_handshake_prose_env_8() {
    assert_eq!(env([("AWS_EXECUTION_ENV", "EC2")]).await, None);
}

#[tokio::test]
async fn mongodb_handshake_prose_env_9() {
    let both = [
        JAVA,
        ("AWS_REGION", "us-east-2"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024"),
        ("KUBERNETES_SERVICE_HOST", "1"),
    ];
    let expected = doc! {
        "name": "aws.lambda", "memory_mb": 1024, "region": "us-east-2",
        "container": { "orchestrator": "kubernetes" },
    };
    assert_eq!(env(both).await, Some(expected));
}

#[tokio::test]
async fn mongodb_handshake_prose_mech() {
    let observer = Observer::start(doc! { "saslSupportedMechs": ["FOO-BAR-1"] }).await;
    let client = Client::connect(observer.uri("")).await.expect("a client");
    ping(&client).await;
    assert_eq!(observer.handshakes_of("ping").len(), 1);
}

/// A client that uses a new connection for each ping, and a server that records the handshakes.
struct Subject {
    observer: Observer,
    client: Client,
}

impl Subject {
    async fn new(initial: Option<DriverInfo>) -> Self {
        let observer = Observer::start(doc! {}).await;
        let mut options = ClientOptions::parse(&observer.uri("maxIdleTimeMS=1")).expect("options");
        options.driver_info = initial;
        let client = environment([]).client(options).expect("a client");
        Self { observer, client }
    }

    fn append(&self, info: &DriverInfo) {
        self.client.append_metadata(info.clone()).expect("appended");
    }

    /// Sends a ping. Returns the metadata of its connection.
    async fn ping(&self) -> Document {
        let before = self.observer.handshakes_of("ping").len();
        ping(&self.client).await;
        // The wait exceeds maxIdleTimeMS, so the next ping needs a new connection.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let handshakes = self.observer.handshakes_of("ping");
        assert_eq!(handshakes.len(), before + 1, "each ping has its own connection");
        let metadata = handshakes[before].get_document("client").expect("metadata");
        metadata.clone()
    }
}

/// The parts appended to name, version and platform, and the rest of the metadata.
fn split(metadata: &Document) -> ([Option<String>; 3], Document) {
    let mut rest = metadata.clone();
    let driver = rest.get_document("driver").expect("a driver").clone();
    let appended = |text: &str| text.split_once('|').map(|(_, appended)| appended.to_owned());
    let name = driver.get_str("name").expect("a name");
    assert!(name.starts_with("marula-driver"), "{name}");
    let parts = [
        appended(name),
        appended(driver.get_str("version").expect("a version")),
        appended(rest.get_str("platform").expect("a platform")),
    ];
    rest.remove("driver");
    rest.remove("platform");
    (parts, rest)
}

fn parts(name: &str, version: &str, platform: &str) -> [Option<String>; 3] {
    [name, version, platform].map(|part| Some(part.to_owned()))
}

fn info(name: &str, version: Option<&str>, platform: Option<&str>) -> DriverInfo {
    let mut info = DriverInfo::new(name);
    info.version = version.map(str::to_owned);
    info.platform = platform.map(str::to_owned);
    info
}

fn library() -> DriverInfo {
    info("library", Some("1.2"), Some("Library Platform"))
}

/// Information of frameworks, with the expected name, version and platform after it is appended to
/// that of the library.
fn frameworks() -> [(DriverInfo, [Option<String>; 3]); 4] {
    let (version, platform) = (Some("2.0"), Some("Framework Platform"));
    let (versions, platforms) = ("1.2|2.0", "Library Platform|Framework Platform");
    let names = "library|framework";
    [
        (
            info("framework", version, platform),
            parts(names, versions, platforms),
        ),
        (
            info("framework", version, None),
            parts(names, versions, "Library Platform"),
        ),
        (info("framework", None, platform), parts(names, "1.2", platforms)),
        (
            info("framework", None, None),
            parts(names, "1.2", "Library Platform"),
        ),
    ]
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_1() {
    for (framework, expected) in frameworks() {
        let subject = Subject::new(Some(library())).await;
        let (before, rest) = split(&subject.ping().await);
        assert_eq!(before, parts("library", "1.2", "Library Platform"));
        subject.append(&framework);
        assert_eq!(split(&subject.ping().await), (expected, rest));
    }
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_2() {
    for (framework, expected) in frameworks() {
        let subject = Subject::new(None).await;
        subject.append(&library());
        let (before, rest) = split(&subject.ping().await);
        assert_eq!(before, parts("library", "1.2", "Library Platform"));
        subject.append(&framework);
        assert_eq!(split(&subject.ping().await), (expected, rest));
    }
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_3() {
    let both = [false, true];
    for (name, version, platform) in both
        .into_iter()
        .flat_map(|n| both.map(|v| both.map(|p| (n, v, p))))
        .flatten()
        // Cases in which all three differ are covered by the tests above.
        .filter(|case| *case != (true, true, true))
    {
        let own = |differs: bool, of_library: &'static str, of_framework: &'static str| {
            if differs { of_framework } else { of_library }
        };
        let name = own(name, "library", "framework");
        let version = own(version, "1.2", "2.0");
        let platform = own(platform, "Library Platform", "Framework Platform");
        let second = info(name, Some(version), Some(platform));
        let subject = Subject::new(None).await;
        subject.append(&library());
        let (before, rest) = split(&subject.ping().await);
        subject.append(&second);
        let expected = if second == library() {
            before
        } else {
            parts(
                &format!("library|{name}"),
                &format!("1.2|{version}"),
                &format!("Library Platform|{platform}"),
            )
        };
        assert_eq!(split(&subject.ping().await), (expected, rest));
    }
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_4() {
    let subject = Subject::new(None).await;
    subject.append(&library());
    subject.ping().await;
    subject.append(&info("framework", Some("2.0"), Some("Framework Platform")));
    let before = subject.ping().await;
    subject.append(&library());
    assert_eq!(subject.ping().await, before);
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_5() {
    let subject = Subject::new(Some(library())).await;
    let before = subject.ping().await;
    subject.append(&library());
    assert_eq!(subject.ping().await, before);
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_6() {
    let subject = Subject::new(Some(library())).await;
    let first = subject.ping().await;
    subject.append(&info("framework", Some("1.2"), Some("Library Platform")));
    let before = subject.ping().await;
    assert_ne!(first, before);
    subject.append(&library());
    assert_eq!(subject.ping().await, before);
}

/// Information with a missing part, and the same with an empty part.
fn absent_and_empty() -> [(DriverInfo, DriverInfo); 3] {
    let (version, platform) = (Some("1.2"), Some("Library Platform"));
    [
        (
            info("library", None, platform),
            info("library", Some(""), platform),
        ),
        (info("library", version, None), info("library", version, Some(""))),
        (info("library", Some(""), Some("")), info("library", None, None)),
    ]
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_7() {
    for (first, second) in absent_and_empty() {
        let subject = Subject::new(None).await;
        subject.append(&first);
        let before = subject.ping().await;
        subject.append(&second);
        assert_eq!(subject.ping().await, before);
    }
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_8() {
    for (first, second) in absent_and_empty() {
        let subject = Subject::new(Some(first)).await;
        let before = subject.ping().await;
        subject.append(&second);
        assert_eq!(subject.ping().await, before);
    }
}

#[tokio::test]
async fn mongodb_handshake_prose_metadata_9() {
    let subject = Subject::new(None).await;
    subject.ping().await;
    let requests = subject.observer.requests();
    assert!(requests.len() >= 2, "requests of the monitor and the ping");
    for handshake in requests.iter().filter_map(|requests| requests.first()) {
        assert_eq!(handshake.get_str("backpressure").ok(), Some("2"), "{handshake}");
    }
}

#[tokio::test]
async fn invalid_driver_info_is_rejected_and_not_appended() {
    let subject = Subject::new(None).await;
    let before = subject.ping().await;
    for bad in [info("a|b", None, None), info(&"n".repeat(600), None, None)] {
        assert!(subject.client.append_metadata(bad.clone()).is_err());
        let mut options = ClientOptions::parse("mongodb://localhost").expect("options");
        options.driver_info = Some(bad);
        assert!(Client::with_options(options).is_err());
    }
    assert_eq!(subject.ping().await, before);
}
