//! Prose tests of the machine flow of `MONGODB-OIDC`, with a callback and with `ENVIRONMENT:test`.

use std::time::Duration;

use marula_driver::{
    Client,
    bson::doc,
    internals::{Environment, Variables, cached_oidc_token, set_cached_oidc_token},
    options::{ClientOptions, Credential, OidcCredential},
};
use marula_test_server::TestServer;

use crate::support::{
    BAD, GOOD, Recorder, TokenFile, assert_refused, client_of, fail, find, missing, oidc_server, options_of,
    require_reauthentication, started, things, uri_of,
};

/// A client in each environment: with a callback, whose calls are recorded, and with the token file.
fn clients(server: &TestServer, file: &TokenFile) -> Vec<(Client, Option<Recorder>)> {
    let recorder = Recorder::default();
    let credential = Credential::default().with_oidc_callback(recorder.good());
    let with_callback = client_of(server, credential);
    let options = "authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:test&retryReads=false\
                   &appName=oidc&heartbeatFrequencyMS=500";
    let uri = uri_of(server, options);
    let environment = Environment {
        variables: Variables::fixed([("OIDC_TOKEN_FILE", file.path())]),
        ..Environment::default()
    };
    let with_file = environment
        .client(ClientOptions::parse(&uri).expect("a connection string"))
        .expect("a client");
    vec![(with_callback, Some(recorder)), (with_file, None)]
}

fn assert_calls(recorder: Option<&Recorder>, expected: usize) {
    if let Some(recorder) = recorder {
        assert_eq!(recorder.calls(), expected);
    }
}

#[tokio::test]
async fn oidc_prose_1_1_the_callback_is_called_during_authentication() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        find(&client).await.unwrap();
        assert_calls(recorder.as_ref(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oidc_prose_1_2_the_callback_is_called_once_for_several_connections() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move {
                    for _ in 0..100 {
                        find(&client).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_calls(recorder.as_ref(), 1);
    }
}

#[tokio::test]
async fn oidc_prose_2_1_the_callback_gets_its_parameters() {
    let server = started(oidc_server()).await;
    let minute = Duration::from_secs(60);
    for (options, least, most) in [
        ("", minute - Duration::from_secs(5), minute),
        ("timeoutMS=5000", Duration::from_millis(1), Duration::from_secs(5)),
        (
            "timeoutMS=50000&connectTimeoutMS=7000",
            Duration::from_millis(1),
            Duration::from_secs(7),
        ),
    ] {
        let recorder = Recorder::default();
        let mut credential = Credential::default().with_oidc_callback(recorder.good());
        credential.username = Some("test_user1".to_owned());
        let client = Client::with_options(options_of(&server, credential, options)).unwrap();
        find(&client).await.unwrap();
        let params = recorder.params();
        let [params] = params.as_slice() else {
            panic!("{params:?}");
        };
        assert!((least..=most).contains(&params.timeout), "{options}: {params:?}");
        assert_eq!(
            (params.version, params.username.as_deref()),
            (1, Some("test_user1"))
        );
        assert!(params.idp_info.is_none() && params.refresh_token().is_none());
    }
}

#[tokio::test]
async fn oidc_prose_2_2_a_callback_without_result_is_an_error() {
    let server = started(oidc_server()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|_| Err("there is no token"));
    let client = client_of(&server, Credential::default().with_oidc_callback(callback));
    let error = find(&client).await.unwrap_err();
    assert_eq!(missing(&error), "the callback failed: there is no token");
}

#[tokio::test]
async fn oidc_prose_2_3_a_result_without_access_token_is_an_error() {
    let server = started(oidc_server()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|_| Ok(OidcCredential::new("")));
    let client = client_of(&server, Credential::default().with_oidc_callback(callback));
    let error = find(&client).await.unwrap_err();
    assert!(missing(&error).contains("empty access token"), "{error}");
}

#[tokio::test]
async fn oidc_prose_2_4_a_callback_with_an_environment_is_an_error() {
    let server = started(oidc_server()).await;
    let recorder = Recorder::default();
    let mut credential = Credential::default().with_oidc_callback(recorder.good());
    let properties = &mut credential.mechanism_properties;
    properties.insert("ENVIRONMENT".to_owned(), "test".to_owned());
    let error = Client::with_options(options_of(&server, credential, "")).unwrap_err();
    assert!(error.to_string().contains("not both"), "{error}");
}

#[tokio::test]
async fn oidc_prose_2_5_allowed_hosts_with_an_environment_is_an_error() {
    let mut options = ClientOptions::parse(
        "mongodb://localhost/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:azure,TOKEN_RESOURCE:r",
    )
    .unwrap();
    options.credential.as_mut().unwrap().allowed_hosts = Some(Vec::new());
    let error = Client::with_options(options).unwrap_err();
    assert!(error.to_string().contains("ALLOWED_HOSTS"), "{error}");
}

#[tokio::test]
async fn oidc_prose_3_1_an_invalid_cached_token_is_replaced() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        set_cached_oidc_token(&client, Some(BAD));
        find(&client).await.unwrap();
        assert_calls(recorder.as_ref(), 1);
        assert_eq!(cached_oidc_token(&client).as_deref(), Some(GOOD));
    }
}

#[tokio::test]
async fn oidc_prose_3_2_an_invalid_token_without_a_cached_one_is_an_error() {
    let server = started(oidc_server()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|_| Ok(OidcCredential::new(BAD)));
    let client = client_of(&server, Credential::default().with_oidc_callback(callback));
    assert_refused(&find(&client).await.unwrap_err(), 18);
    assert_eq!(recorder.calls(), 1);
}

#[tokio::test]
async fn oidc_prose_3_3_another_error_code_does_not_clear_the_cache() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        fail(&server, 1, "saslStart", doc! { "errorCode": 20 }).await;
        assert_refused(&find(&client).await.unwrap_err(), 20);
        assert_calls(recorder.as_ref(), 1);
        find(&client).await.unwrap();
        assert_calls(recorder.as_ref(), 1);
    }
}

#[tokio::test]
async fn oidc_prose_4_1_a_read_is_repeated_after_reauthentication() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        require_reauthentication(&server, "find").await;
        find(&client).await.unwrap();
        assert_calls(recorder.as_ref(), 2);
    }
}

#[tokio::test]
async fn oidc_prose_4_2_a_read_fails_if_reauthentication_fails() {
    let server = started(oidc_server()).await;
    let recorder = Recorder::default();
    let credential = Credential::default().with_oidc_callback(recorder.good_then_bad());
    let client = client_of(&server, credential);
    find(&client).await.unwrap();
    require_reauthentication(&server, "find").await;
    assert_refused(&find(&client).await.unwrap_err(), 18);
    assert_eq!(recorder.calls(), 2);
}

#[tokio::test]
async fn oidc_prose_4_3_a_write_fails_if_reauthentication_fails() {
    let server = started(oidc_server()).await;
    let recorder = Recorder::default();
    let credential = Credential::default().with_oidc_callback(recorder.good_then_bad());
    let client = client_of(&server, credential);
    things(&client).insert_one(&doc! { "x": 1 }).await.unwrap();
    require_reauthentication(&server, "insert").await;
    let error = things(&client).insert_one(&doc! { "x": 1 }).await.unwrap_err();
    assert_refused(&error, 18);
    assert_eq!(recorder.calls(), 2);
}

#[tokio::test]
async fn oidc_prose_4_4_reauthentication_does_not_speculate() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        set_cached_oidc_token(&client, Some(GOOD));
        let before = server.commands_seen("saslStart");
        things(&client).insert_one(&doc! { "x": 1 }).await.unwrap();
        assert_calls(recorder.as_ref(), 0);
        assert_eq!(
            server.commands_seen("saslStart"),
            before,
            "speculated in the handshake"
        );
        require_reauthentication(&server, "insert").await;
        let before = server.commands_seen("saslStart");
        things(&client).insert_one(&doc! { "x": 1 }).await.unwrap();
        assert_calls(recorder.as_ref(), 1);
        assert_eq!(server.commands_seen("saslStart"), before + 1);
    }
}

#[tokio::test]
async fn oidc_prose_4_5_reauthentication_succeeds_in_a_session() {
    let (server, file) = (started(oidc_server()).await, TokenFile::new(GOOD));
    for (client, recorder) in clients(&server, &file) {
        require_reauthentication(&server, "find").await;
        let mut session = client.start_session().await.unwrap();
        let things = things(&client);
        things.find_one(doc! {}).session(&mut session).await.unwrap();
        assert_calls(recorder.as_ref(), 2);
    }
}
