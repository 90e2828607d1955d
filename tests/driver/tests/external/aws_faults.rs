//! Metadata services and servers that violate `MONGODB-AWS`: typed errors within the deadline.

use marula_driver::{
    AuthenticationFailure, Client,
    bson::{Binary, Bson, Document, doc, spec::BinarySubtype},
    options::{AwsCredentialProvider, ClientOptions, Credential},
};
use marula_driver_tests::{Answer, CommandRecorder, HttpAnswer, MetadataService, Request, ScriptedServer};

use crate::{
    aws::{KEY, SECRET, TOKEN, aws_server, client_in, environment, environment_with},
    support::{TokenFile, failure, find, missing, started, uri_of},
};

const ECS: [(&str, &str); 1] = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/credentials")];

#[tokio::test]
async fn responses_other_than_credentials_are_errors() {
    const HTML: &str = "<!DOCTYPE html><html>Sign in</html>";
    let server = started(aws_server(Some(TOKEN))).await;
    let raw = |text: &str| HttpAnswer::Raw(text.as_bytes().to_vec());
    for (answer, why) in [
        (HttpAnswer::from((200, HTML)), "not a JSON document"),
        (HttpAnswer::from((200, "{}")), "no field AccessKeyId"),
        (
            HttpAnswer::from((200, r#"{"AccessKeyId":"hunter2"}"#)),
            "no field SecretAccessKey",
        ),
        (HttpAnswer::from((404, HTML)), "status 404"),
        (
            raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"Acc"),
            "did not reply",
        ),
        (
            raw("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
            "did not reply",
        ),
        (raw(""), "did not reply"),
    ] {
        let service = MetadataService::start(move |_| answer.clone()).await;
        let error = find(&client_in(&environment_with(ECS, &service), &server))
            .await
            .unwrap_err();
        assert!(missing(&error).contains(why), "{why}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

/// The path suffices to fetch the credentials.
#[tokio::test]
async fn the_path_of_a_container_is_not_shown() {
    const PATH: &str = "/v2/credentials/4a1b-secret";
    let server = started(aws_server(Some(TOKEN))).await;
    let service = MetadataService::start(|_| (404, format!("Cannot GET {PATH} here"))).await;
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", PATH)];
    let client = client_in(&environment_with(variables, &service), &server);
    let error = find(&client).await.unwrap_err();
    assert!(missing(&error).contains("Cannot GET (not shown) here"), "{error}");
    assert!(!format!("{error:?}").contains("4a1b-secret"), "{error:?}");
}

#[tokio::test]
async fn an_ec2_service_with_unusable_names_is_an_error() {
    let server = started(aws_server(None)).await;
    for (token, role, why) in [
        ("a\r\nb", "role", "something else than a token"),
        ("", "role", "something else than a token"),
        ("token", "", "something else than the name of a role"),
        ("token", "<html> x", "something else than the name of a role"),
    ] {
        let service =
            MetadataService::start(move |line| (200, if line.starts_with("PUT") { token } else { role }))
                .await;
        let error = find(&client_in(&environment_with([], &service), &server))
            .await
            .unwrap_err();
        assert!(missing(&error).contains(why), "{why}: {error}");
    }
}

#[tokio::test]
async fn a_silent_service_ends_with_the_time_limit() {
    let server = started(aws_server(None)).await;
    for (option, is_timeout) in [("connectTimeoutMS=1000", false), ("timeoutMS=1000", true)] {
        let service = MetadataService::start(|_| HttpAnswer::Silence).await;
        let uri = uri_of(
            &server,
            &format!("authMechanism=MONGODB-AWS&retryReads=false&{option}"),
        );
        let options = ClientOptions::parse(&uri).unwrap();
        let client = environment_with([], &service).client(options).unwrap();
        let error = find(&client).await.unwrap_err();
        assert_eq!(error.is_timeout(), is_timeout, "{error:?}");
        if !is_timeout {
            let why = missing(&error);
            assert!(
                why.contains("no answer in time from the EC2 metadata service (127.0.0.1:")
                    && why.contains("connectTimeoutMS (1s)"),
                "{why}"
            );
        }
    }
}

/// A provider that does not return ends the login, whose error says what was awaited.
#[tokio::test]
async fn a_login_that_waits_for_credentials_names_them() {
    let server = started(aws_server(None)).await;
    for (option, is_timeout) in [("connectTimeoutMS=1000", false), ("timeoutMS=2000", true)] {
        let provider = AwsCredentialProvider::new(std::future::pending);
        let uri = uri_of(&server, &format!("retryReads=false&{option}"));
        let mut options = ClientOptions::parse(&uri).unwrap();
        options.credential = Some(Credential::default().with_aws_credential_provider(provider));
        let client = environment([]).client(options).unwrap();
        let error = find(&client).await.unwrap_err();
        assert_eq!(error.is_timeout(), is_timeout, "{error:?}");
        if is_timeout {
            let text = format!("{error:#}");
            let named = "authentication (authSource=$external) by MONGODB-AWS wait";
            assert!(
                text.contains(named) && text.contains("for AWS credentials"),
                "{text}"
            );
            continue;
        }
        assert_eq!(
            missing(&error),
            "no AWS credentials within connectTimeoutMS (1s): no answer in time from the provider of the application \
             (AwsCredentialProvider)"
        );
        let text = error.to_string();
        assert!(text.contains("(authSource=$external) by MONGODB-AWS"), "{text}");
    }
}

#[tokio::test]
async fn a_web_identity_that_is_refused_is_an_error_without_its_token() {
    let server = started(aws_server(None)).await;
    let file = TokenFile::new("hunter2");
    let service = MetadataService::start(|line| {
        // The service repeats the request.
        let code = r#"{"Error":{"Code":"ExpiredTokenException"}}"#;
        (400, format!("{code} {line}"))
    })
    .await;
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.path()),
        ("AWS_ROLE_ARN", "arn:role"),
    ];
    let error = find(&client_in(&environment_with(variables, &service), &server))
        .await
        .unwrap_err();
    assert!(missing(&error).contains("ExpiredTokenException"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent/token"),
        ("AWS_ROLE_ARN", "arn:role"),
    ];
    let error = find(&client_in(&environment_with(variables, &service), &server))
        .await
        .unwrap_err();
    assert!(missing(&error).contains("/nonexistent/token"), "{error}");
}

fn binary(bytes: &[u8]) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    }
}

/// The nonce in the first message of the client.
fn nonce_of(request: &Request) -> Vec<u8> {
    let payload = request
        .command
        .get_binary_generic("payload")
        .cloned()
        .unwrap_or_default();
    let message = Document::from_reader(payload.as_slice()).unwrap_or_default();
    match message.get("r") {
        Some(Bson::Binary(nonce)) => nonce.bytes.clone(),
        _ => Vec::new(),
    }
}

/// Makes the first message of the server from the nonce of the client.
type Message = fn(Vec<u8>) -> Document;

/// The failure against a server whose first message is made from the nonce of the client.
async fn failure_with(message: Message, done: bool) -> AuthenticationFailure {
    let server = ScriptedServer::start(doc! {}, move |request: &Request| match request.name() {
        "saslStart" => {
            let message = marula_driver::bson::to_vec(&message(nonce_of(request))).expect("a message");
            Answer::Reply(doc! {
                "ok": 1, "conversationId": 1, "payload": binary(&message), "done": done,
            })
        }
        "saslContinue" => Answer::Reply(doc! {
            "ok": 1, "conversationId": 1, "payload": binary(b""), "done": false,
        }),
        _ => Answer::Success,
    })
    .await;
    let variables = environment([("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]);
    let uri = server.uri("authMechanism=MONGODB-AWS&retryReads=false");
    let options = ClientOptions::parse(&uri).expect("a connection string");
    let client = variables.client(options).expect("a client");
    failure(&find(&client).await.expect_err("a violation")).clone()
}

/// A server nonce that begins with that of the client.
fn longer(mut nonce: Vec<u8>) -> Binary {
    nonce.resize(64, 7);
    binary(&nonce)
}

#[tokio::test]
async fn a_server_with_a_wrong_nonce_or_host_is_rejected() {
    let cases: [(Message, bool, &str); 9] = [
        (
            |_| doc! { "s": binary(&[0; 64]), "h": "sts.amazonaws.com" },
            false,
            "does not begin",
        ),
        (
            |nonce| doc! { "s": binary(&nonce), "h": "sts.amazonaws.com" },
            false,
            "64 bytes",
        ),
        (|_| doc! { "h": "sts.amazonaws.com" }, false, "64 bytes"),
        (
            |nonce| doc! { "s": longer(nonce), "h": "sts..com" },
            false,
            "not a valid name",
        ),
        (
            |nonce| doc! { "s": longer(nonce), "h": "" },
            false,
            "not a valid name",
        ),
        (
            |nonce| doc! { "s": longer(nonce), "h": "a\nx-amz-date:b" },
            false,
            "not a valid name",
        ),
        (|nonce| doc! { "s": longer(nonce) }, false, "no host"),
        (
            |nonce| doc! { "s": longer(nonce), "h": "localhost" },
            true,
            "before a signature",
        ),
        (
            |nonce| doc! { "s": longer(nonce), "h": "localhost" },
            false,
            "does not end",
        ),
    ];
    for (message, done, part) in cases {
        let failed = failure_with(message, done).await;
        let AuthenticationFailure::Conversation(why) = failed else {
            panic!("{failed:?}");
        };
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[tokio::test]
async fn secrets_do_not_appear_in_events_errors_or_debug_output() {
    let server = started(aws_server(Some(TOKEN))).await;
    for token in [TOKEN, "another-token-of-hunter2"] {
        let variables = environment([
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_SESSION_TOKEN", token),
        ]);
        let commands = CommandRecorder::default();
        let uri = uri_of(&server, "authMechanism=MONGODB-AWS&retryReads=false");
        let mut options = ClientOptions::parse(&uri).unwrap();
        commands.listen(&mut options);
        let client: Client = variables.client(options).unwrap();
        let outcome = find(&client).await;
        assert_eq!(outcome.is_ok(), token == TOKEN);
        let shown = format!("{client:?} {:?} {outcome:?}", commands.take());
        assert!(!shown.contains(SECRET) && !shown.contains(token), "{shown}");
    }
}
