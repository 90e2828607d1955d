//! Prose tests of `MONGODB-AWS`: the sources of credentials, with doubles of the metadata services.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use marula_driver::{
    Client,
    internals::{AwsCache, Environment, Variables},
    options::{AwsCredentialProvider, AwsCredentials, ClientOptions, Credential},
};
use marula_driver_tests::{
    MetadataService,
    tls::{Authority, Files, TlsTerminator},
};
use marula_test_server::{TestServer, TestServerBuilder};

use crate::support::{TokenFile, assert_refused, find, missing, started, uri_of};

pub(crate) const KEY: &str = "AKIDEXAMPLE";
pub(crate) const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
pub(crate) const TOKEN: &str = "session-token/with+signs=";

/// A server with an administrator, and a user with these credentials.
pub(crate) fn aws_server(token: Option<&str>) -> TestServerBuilder {
    TestServer::builder()
        .auth("root", "hunter2")
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
        .aws_user(KEY, SECRET, token)
}

/// An environment with these variables and without cached credentials.
pub(crate) fn environment<const N: usize>(variables: [(&str, &str); N]) -> Environment {
    Environment {
        variables: Variables::fixed(variables),
        aws_cache: AwsCache::empty(),
        ..Environment::default()
    }
}

/// The same with metadata services.
pub(crate) fn environment_with<const N: usize>(
    variables: [(&str, &str); N],
    service: &MetadataService,
) -> Environment {
    Environment {
        services: service.services(),
        ..environment(variables)
    }
}

/// A client of `mongodb://…/?authMechanism=MONGODB-AWS` without retries.
pub(crate) fn client_in(environment: &Environment, server: &TestServer) -> Client {
    let uri = uri_of(server, "authMechanism=MONGODB-AWS&retryReads=false");
    let options = ClientOptions::parse(&uri).expect("a connection string");
    environment.client(options).expect("a client")
}

/// The response of ECS and EC2 with the credentials, valid for a long time.
pub(crate) fn credentials_body() -> String {
    body(KEY, "2100-01-01T00:00:00Z")
}

/// The same with another key and another end of validity.
pub(crate) fn body(key: &str, expiration: &str) -> String {
    format!(
        r#"{{"Code":"Success","AccessKeyId":"{key}","SecretAccessKey":"{SECRET}","Token":"{TOKEN}","Expiration":"{expiration}"}}"#
    )
}

/// The metadata service of an EC2 instance with the role `my-role`.
pub(crate) async fn ec2() -> MetadataService {
    MetadataService::start(|line| match line {
        "PUT /latest/api/token" => (200, "metadata-token".to_owned()),
        "GET /latest/meta-data/iam/security-credentials/" => (200, "my-role".to_owned()),
        "GET /latest/meta-data/iam/security-credentials/my-role" => (200, credentials_body()),
        _ => (404, String::new()),
    })
    .await
}

fn provider(calls: &Arc<AtomicUsize>, credentials: &AwsCredentials) -> Credential {
    let (calls, credentials) = (Arc::clone(calls), credentials.clone());
    Credential::default().with_aws_credential_provider(AwsCredentialProvider::new(move || {
        calls.fetch_add(1, Ordering::SeqCst);
        let credentials = credentials.clone();
        async move { Ok(credentials) }
    }))
}

fn client_with(environment: &Environment, server: &TestServer, credential: Credential) -> Client {
    let uri = uri_of(server, "retryReads=false");
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    options.credential = Some(credential);
    environment.client(options).expect("a client")
}

/// The scenarios differ in what the provider of the application wraps; the driver sees credentials
/// without and with a session token.
#[tokio::test]
async fn aws_prose_custom_1_a_provider_of_the_application_is_used() {
    for token in [None, Some(TOKEN)] {
        let server = started(aws_server(token)).await;
        let mut credentials = AwsCredentials::new(KEY, SECRET);
        if let Some(token) = token {
            credentials = credentials.with_session_token(token);
        }
        let calls = Arc::default();
        let client = client_with(&environment([]), &server, provider(&calls, &credentials));
        find(&client).await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn aws_prose_custom_2_2_a_provider_precedes_the_environment() {
    let server = started(aws_server(None)).await;
    let variables = environment([
        ("AWS_ACCESS_KEY_ID", "wrong"),
        ("AWS_SECRET_ACCESS_KEY", "wrong"),
        ("AWS_SESSION_TOKEN", "wrong"),
    ]);
    let calls = Arc::default();
    let credential = provider(&calls, &AwsCredentials::new(KEY, SECRET));
    find(&client_with(&variables, &server, credential)).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_refused(&find(&client_in(&variables, &server)).await.unwrap_err(), 18);
}

#[tokio::test]
async fn a_provider_that_fails_is_an_error() {
    let server = started(aws_server(None)).await;
    let failing = AwsCredentialProvider::new(|| async { Err("no profile".into()) });
    let credential = Credential::default().with_aws_credential_provider(failing);
    let error = find(&client_with(&environment([]), &server, credential))
        .await
        .unwrap_err();
    assert_eq!(
        missing(&error),
        "the provider of the application failed: no profile"
    );
}

#[tokio::test]
async fn a_provider_that_panics_is_an_error() {
    let server = started(aws_server(None)).await;
    let at_once = AwsCredentialProvider::new(|| -> std::future::Pending<_> { panic!("no profile") });
    let later = AwsCredentialProvider::new(|| async { panic!("no profile") });
    for provider in [at_once, later] {
        let credential = Credential::default().with_aws_credential_provider(provider);
        let client = client_with(&environment([]), &server, credential);
        let error = find(&client).await.unwrap_err();
        assert_eq!(
            missing(&error),
            "the provider of the application failed: it panicked"
        );
    }
}

#[tokio::test]
async fn aws_prose_regular_credentials_from_the_environment() {
    let server = started(aws_server(None)).await;
    let variables = environment([("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]);
    find(&client_in(&variables, &server)).await.unwrap();
    // The first message is not part of the handshake.
    assert_eq!(server.commands_seen("saslStart"), 1);
    let wrong = environment([("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", "wrong")]);
    assert_refused(&find(&client_in(&wrong, &server)).await.unwrap_err(), 18);
}

#[tokio::test]
async fn aws_prose_ec2_credentials() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = ec2().await;
    find(&client_in(&environment_with([], &service), &server))
        .await
        .unwrap();
    let requests = service.requests();
    assert_eq!(requests.len(), 3);
    let seconds = requests[0]
        .split_once("X-aws-ec2-metadata-token-ttl-seconds: ")
        .and_then(|(_, rest)| rest.lines().next())
        .and_then(|seconds| seconds.parse::<u32>().ok())
        .unwrap();
    assert!((1..=21600).contains(&seconds), "{}", requests[0]);
    for request in &requests[1..] {
        assert!(
            request.contains("X-aws-ec2-metadata-token: metadata-token\r\n"),
            "{request}"
        );
    }
}

#[tokio::test]
async fn aws_prose_ecs_credentials() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = MetadataService::start(|line| match line {
        "GET /v2/credentials/1234" => (200, credentials_body()),
        _ => (404, String::new()),
    })
    .await;
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1234")];
    find(&client_in(&environment_with(variables, &service), &server))
        .await
        .unwrap();
    assert_eq!(service.requests().len(), 1, "EC2 is not asked");
}

#[tokio::test]
async fn aws_prose_assume_role_credentials_from_the_environment() {
    for host in ["sts.amazonaws.com", "sts.us-west-2.amazonaws.com", "localhost"] {
        let server = started(aws_server(Some(TOKEN)).aws_sts_host(host)).await;
        let variables = environment([
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_SESSION_TOKEN", TOKEN),
        ]);
        find(&client_in(&variables, &server)).await.unwrap();
    }
}

#[tokio::test]
async fn aws_prose_web_identity_with_and_without_session_name() {
    let server = started(aws_server(Some(TOKEN))).await;
    let file = TokenFile::new("web.identity-token\n");
    let credentials = format!(
        r#"{{"Credentials":{{"AccessKeyId":"{KEY}","SecretAccessKey":"{SECRET}","SessionToken":"{TOKEN}","Expiration":4102444800.0}}}}"#
    );
    let nested = format!(
        r#"{{"AssumeRoleWithWebIdentityResponse":{{"AssumeRoleWithWebIdentityResult":{credentials},"ResponseMetadata":{{}}}}}}"#
    );
    for (name, response) in [(Some("my session"), credentials), (None, nested)] {
        let service = MetadataService::start(move |_| (200, response.clone())).await;
        let role = "arn:aws:iam::123456789012:role/my-role";
        let mut variables = vec![
            ("AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(), file.path().to_owned()),
            ("AWS_ROLE_ARN".to_owned(), role.to_owned()),
        ];
        variables.extend(name.map(|name| ("AWS_ROLE_SESSION_NAME".to_owned(), name.to_owned())));
        let environment = Environment {
            variables: Variables::Fixed(variables),
            ..environment_with([], &service)
        };
        find(&client_in(&environment, &server)).await.unwrap();
        let requests = service.requests();
        let [request] = requests.as_slice() else {
            panic!("{requests:?}");
        };
        assert!(
            request.starts_with("POST /?Action=AssumeRoleWithWebIdentity&"),
            "{request}"
        );
        assert!(request.contains("\r\nAccept: application/json\r\n"), "{request}");
        let line = request.lines().next().unwrap();
        let query = line.trim_end_matches(" HTTP/1.1");
        let value = |key: &str| {
            query
                .split(['?', '&'])
                .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
                .unwrap_or_else(|| panic!("{key} in {query}"))
        };
        assert_eq!(value("Version"), "2011-06-15");
        assert_eq!(
            value("RoleArn"),
            "arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fmy-role"
        );
        assert_eq!(value("WebIdentityToken"), "web.identity-token");
        match name {
            Some(_) => assert_eq!(value("RoleSessionName"), "my%20session"),
            None => assert!(!value("RoleSessionName").is_empty()),
        }
        assert!(environment.cached_aws_credentials().is_some());
    }
}

#[tokio::test]
async fn aws_prose_lambda_credentials_without_and_with_token() {
    let server = started(aws_server(None)).await;
    let variables = environment([
        ("AWS_EXECUTION_ENV", "AWS_Lambda_python3.12"),
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ]);
    find(&client_in(&variables, &server)).await.unwrap();
    let server = started(aws_server(Some(TOKEN))).await;
    // Without its token, the key is not valid.
    assert_refused(&find(&client_in(&variables, &server)).await.unwrap_err(), 18);
    let variables = environment([
        ("AWS_EXECUTION_ENV", "AWS_Lambda_python3.12"),
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", TOKEN),
    ]);
    find(&client_in(&variables, &server)).await.unwrap();
}

/// The token of a web identity is sent to a service with a valid certificate only.
#[tokio::test]
async fn the_security_token_service_is_asked_over_tls() {
    let server = started(aws_server(Some(TOKEN))).await;
    let file = TokenFile::new("web.identity-token");
    let service = MetadataService::start(|_| {
        let credentials = credentials_body().replace("\"Token\"", "\"SessionToken\"");
        (200, format!(r#"{{"Credentials":{credentials}}}"#))
    })
    .await;
    let (authority, files) = (Authority::new(), Files::new());
    let target = service.url.trim_start_matches("http://").parse().unwrap();
    let terminator = TlsTerminator::start(&authority.issue(&["127.0.0.1"]), target).await;
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.path()),
        ("AWS_ROLE_ARN", "arn:role"),
    ];
    let mut environment = environment(variables);
    environment.services.sts = format!("https://{}", terminator.address);
    let error = find(&client_in(&environment, &server)).await.unwrap_err();
    assert!(missing(&error).contains("the Security Token Service"), "{error}");
    assert!(missing(&error).contains("certificate"), "{error}");
    assert!(service.requests().is_empty());
    environment.sts_tls.ca_file = Some(files.write("ca.pem", &authority.pem()).into());
    find(&client_in(&environment, &server)).await.unwrap();
    assert_eq!(service.requests().len(), 1);
}

/// EKS Pod Identity: the file with the token is read for each request.
#[tokio::test]
async fn the_endpoint_of_a_container_gets_the_token_of_the_file() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = MetadataService::start(|line| match line {
        // Credentials without an end of validity are not cached.
        "GET /v1/credentials" => (200, body(KEY, "soon")),
        _ => (404, String::new()),
    })
    .await;
    let files = Files::new();
    let file = files.write("token", "first.token\n");
    let url = format!("{}/v1/credentials", service.url);
    let full = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str());
    let environment = environment([
        full,
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "unused.token"),
    ]);
    find(&client_in(&environment, &server)).await.unwrap();
    let _ = files.write("token", "second.token");
    find(&client_in(&environment, &server)).await.unwrap();
    let of_variable = [full, ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc=")];
    find(&client_in(&self::environment(of_variable), &server))
        .await
        .unwrap();
    find(&client_in(&self::environment([full]), &server))
        .await
        .unwrap();
    let requests = service.requests();
    assert_eq!(requests.len(), 4, "{requests:?}");
    for (request, token) in requests.iter().zip(["first.token", "second.token", "Basic abc="]) {
        let header = format!("\r\nAuthorization: {token}\r\n");
        assert!(request.contains(&header), "{request}");
    }
    assert!(!requests[3].contains("Authorization"), "{}", requests[3]);
}

#[tokio::test]
async fn errors_of_the_endpoint_of_a_container_name_the_variable() {
    const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    const FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
    const TOKEN_VARIABLE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
    let server = started(aws_server(None)).await;
    let echo = "the token hunter2.hunter2 is wrong";
    let service = MetadataService::start(move |_| (401, echo)).await;
    let files = Files::new();
    let file = files.write("token", "hunter2.hunter2");
    let empty = files.write("empty", "\n");
    let url = service.url.as_str();
    for (variables, why) in [
        (
            [(FULL, "http://credentials.example.com/x"), (FILE, file.as_str())],
            FULL,
        ),
        ([(FULL, "http://169.254.169.254/x"), (FILE, file.as_str())], FULL),
        (
            [(FULL, url), (FILE, "/nonexistent/token")],
            "/nonexistent/token (AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE)",
        ),
        ([(FULL, url), (FILE, empty.as_str())], FILE),
        (
            [(FULL, url), (TOKEN_VARIABLE, "hunter2\r\nHost: x")],
            TOKEN_VARIABLE,
        ),
    ] {
        let error = find(&client_in(&environment(variables), &server))
            .await
            .unwrap_err();
        assert!(missing(&error).contains(why), "{why}: {error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    assert!(service.requests().is_empty());
    let refused = environment([(FULL, url), (FILE, file.as_str())]);
    let error = find(&client_in(&refused, &server)).await.unwrap_err();
    assert!(
        missing(&error).contains("status 401: the token (not shown) is wrong"),
        "{error}"
    );
    // The file and the role of a web identity are set together.
    let half = environment_with([("AWS_WEB_IDENTITY_TOKEN_FILE", file.as_str())], &service);
    let error = find(&client_in(&half, &server)).await.unwrap_err();
    assert!(missing(&error).contains("AWS_ROLE_ARN is not"), "{error}");
}

/// A host that is not the machine itself is asked over TLS, with a valid certificate.
#[tokio::test]
async fn the_endpoint_of_a_container_may_be_asked_over_tls() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = MetadataService::start(|_| (200, credentials_body())).await;
    let (authority, files) = (Authority::new(), Files::new());
    let target = service.url.trim_start_matches("http://").parse().unwrap();
    let terminator = TlsTerminator::start(&authority.issue(&["127.0.0.1"]), target).await;
    let url = format!("https://{}/x", terminator.address);
    let mut environment = environment([("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str())]);
    let error = find(&client_in(&environment, &server)).await.unwrap_err();
    assert!(missing(&error).contains("certificate"), "{error}");
    assert!(service.requests().is_empty());
    environment.sts_tls.ca_file = Some(files.write("ca.pem", &authority.pem()).into());
    find(&client_in(&environment, &server)).await.unwrap();
    assert_eq!(service.requests().len(), 1);
}

/// Every connection of every topology signs for itself.
#[tokio::test]
async fn users_authenticate_with_every_topology() {
    for builder in [
        aws_server(None).replica_set(),
        aws_server(None).sharded(),
        aws_server(None).load_balanced(),
    ] {
        let server = started(builder).await;
        let variables = environment([("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]);
        find(&client_in(&variables, &server)).await.unwrap();
    }
}
