//! Prose tests of the human flow of `MONGODB-OIDC`.

use std::time::Duration;

use marula_driver::{
    AuthenticationFailure, Client,
    bson::doc,
    event::CommandEvent,
    options::{ClientOptions, Credential, OidcCallback, OidcCredential},
};
use marula_driver_tests::CommandRecorder;
use marula_test_server::{OidcIdentityProvider, TestServer, TestServerBuilder};

use crate::support::{
    BAD, GOOD, Recorder, assert_refused, client_of, fail, failure, find, missing, oidc_server, options_of,
    require_reauthentication, started,
};

const OTHER: &str = "token-of-test_user2";
const USER: &str = "test_user1@example.com";

/// A server with one identity provider.
fn single() -> TestServerBuilder {
    let provider = OidcIdentityProvider::new("https://idp.example.com")
        .client_id("client")
        .request_scopes(["fizz", "buzz"]);
    oidc_server().oidc_identity_provider(provider)
}

/// A server with an identity provider for each user.
fn multiple() -> TestServerBuilder {
    let provider = |number: u32| {
        OidcIdentityProvider::new(format!("https://idp{number}.example.com"))
            .client_id("client")
            .users([format!("test_user{number}@example.com")])
    };
    oidc_server()
        .oidc_token(OTHER, "test_user2@example.com")
        .oidc_identity_provider(provider(1))
        .oidc_identity_provider(provider(2))
}

fn human(callback: OidcCallback) -> Credential {
    Credential::default().with_oidc_human_callback(callback)
}

fn with_user(callback: OidcCallback, user: &str) -> Credential {
    let mut credential = human(callback);
    credential.username = Some(user.to_owned());
    credential
}

fn refreshable(token: &str) -> OidcCredential {
    OidcCredential::new(token).with_refresh_token("refresh-token")
}

/// A callback that returns the valid token and a refresh token.
fn refreshing(recorder: &Recorder) -> OidcCallback {
    recorder.callback(|_| Ok(refreshable(GOOD)))
}

#[tokio::test]
async fn oidc_prose_human_1_1_single_principal_implicit_username() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    find(&client_of(&server, human(refreshing(&recorder))))
        .await
        .unwrap();
    assert_eq!(recorder.calls(), 1);
}

#[tokio::test]
async fn oidc_prose_human_1_2_single_principal_explicit_username() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let client = client_of(&server, with_user(refreshing(&recorder), USER));
    find(&client).await.unwrap();
}

#[tokio::test]
async fn oidc_prose_human_1_3_multiple_principal_user_1() {
    let server = started(multiple()).await;
    let recorder = Recorder::default();
    let client = client_of(&server, with_user(refreshing(&recorder), USER));
    find(&client).await.unwrap();
    let params = recorder.params();
    let info = params[0].idp_info.as_ref().unwrap();
    assert_eq!(info.issuer, "https://idp1.example.com");
}

#[tokio::test]
async fn oidc_prose_human_1_4_multiple_principal_user_2() {
    let server = started(multiple()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|_| Ok(refreshable(OTHER)));
    let client = client_of(&server, with_user(callback, "test_user2@example.com"));
    find(&client).await.unwrap();
    let params = recorder.params();
    let info = params[0].idp_info.as_ref().unwrap();
    assert_eq!(info.issuer, "https://idp2.example.com");
}

#[tokio::test]
async fn oidc_prose_human_1_5_multiple_principal_no_user() {
    let server = started(multiple()).await;
    let recorder = Recorder::default();
    let client = client_of(&server, human(refreshing(&recorder)));
    assert_refused(&find(&client).await.unwrap_err(), 18);
    assert_eq!(recorder.calls(), 0);
}

#[tokio::test]
async fn oidc_prose_human_1_6_allowed_hosts_blocked() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let mut options = options_of(&server, human(refreshing(&recorder)), "");
    options.credential.as_mut().unwrap().allowed_hosts = Some(Vec::new());
    let error = find(&Client::with_options(options).unwrap()).await.unwrap_err();
    assert_eq!(
        *failure(&error),
        AuthenticationFailure::HostNotAllowed("127.0.0.1".to_owned())
    );
    let mut options = options_of(&server, human(refreshing(&recorder)), "ignored=example.com");
    options.credential.as_mut().unwrap().allowed_hosts = Some(vec!["example.com".to_owned()]);
    let error = find(&Client::with_options(options).unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert_eq!(recorder.calls(), 0);
    assert_eq!(server.commands_seen("saslStart"), 0);
}

#[tokio::test]
async fn oidc_prose_human_1_7_allowed_hosts_in_a_connection_string() {
    let recorder = Recorder::default();
    let mut options = ClientOptions::parse(
        "mongodb+srv://example.com/?authMechanism=MONGODB-OIDC\
         &authMechanismProperties=ALLOWED_HOSTS:%5B%22example.com%22%5D",
    )
    .unwrap();
    let credential = options.credential.take().unwrap();
    options.credential = Some(credential.with_oidc_human_callback(refreshing(&recorder)));
    let error = Client::with_options(options).unwrap_err();
    assert!(error.to_string().contains("no property ALLOWED_HOSTS"), "{error}");
}

#[tokio::test]
async fn oidc_prose_human_1_8_machine_identity_provider_with_human_callback() {
    let provider = OidcIdentityProvider::new("https://machine.example.com");
    let machine = "token-of-test_machine";
    let builder = oidc_server().oidc_token(machine, "test_machine");
    let server = started(builder.oidc_identity_provider(provider)).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(move |_| Ok(refreshable(machine)));
    let client = client_of(&server, with_user(callback, "test_machine"));
    find(&client).await.unwrap();
    let params = recorder.params();
    assert_eq!(params[0].idp_info.as_ref().unwrap().client_id, None);
}

#[tokio::test]
async fn oidc_prose_human_2_1_valid_callback_inputs() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let credential = with_user(refreshing(&recorder), USER);
    // Neither of the options limits the time of a person.
    let options = options_of(&server, credential, "connectTimeoutMS=5000&timeoutMS=5000");
    find(&Client::with_options(options).unwrap()).await.unwrap();
    let params = recorder.params();
    let [params] = params.as_slice() else {
        panic!("{params:?}");
    };
    assert_eq!(params.timeout, Duration::from_secs(300));
    assert_eq!((params.version, params.username.as_deref()), (1, Some(USER)));
    assert_eq!(params.refresh_token(), None);
    let info = params.idp_info.as_ref().unwrap();
    assert_eq!(info.issuer, "https://idp.example.com");
    assert_eq!(info.client_id.as_deref(), Some("client"));
    let scopes = ["fizz", "buzz"].map(str::to_owned).to_vec();
    assert_eq!(info.request_scopes.as_ref(), Some(&scopes));
}

#[tokio::test]
async fn oidc_prose_human_2_2_callback_returns_missing_data() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|_| Ok(refreshable("")));
    let error = find(&client_of(&server, human(callback))).await.unwrap_err();
    assert!(missing(&error).contains("empty access token"), "{error}");
}

#[tokio::test]
async fn oidc_prose_human_2_3_refresh_token_is_passed_to_the_callback() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let client = client_of(&server, human(refreshing(&recorder)));
    find(&client).await.unwrap();
    require_reauthentication(&server, "find").await;
    find(&client).await.unwrap();
    let tokens: Vec<_> = recorder
        .params()
        .iter()
        .map(|params| params.refresh_token().map(str::to_owned))
        .collect();
    assert_eq!(tokens, [None, Some("refresh-token".to_owned())]);
}

#[tokio::test]
async fn oidc_prose_human_3_1_speculative_authentication_if_there_is_a_cached_token() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let client = client_of(&server, human(refreshing(&recorder)));
    fail(&server, 1, "find", doc! { "closeConnection": true }).await;
    find(&client).await.unwrap_err();
    fail(&server, 1, "saslStart", doc! { "errorCode": 18 }).await;
    find(&client).await.unwrap();
    assert_eq!(recorder.calls(), 1);
}

#[tokio::test]
async fn oidc_prose_human_3_2_no_speculative_authentication_without_a_cached_token() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let client = client_of(&server, human(refreshing(&recorder)));
    fail(&server, 1, "saslStart", doc! { "errorCode": 18 }).await;
    assert_refused(&find(&client).await.unwrap_err(), 18);
    assert_eq!(recorder.calls(), 0);
}

fn kinds(recorder: &CommandRecorder) -> Vec<String> {
    let kind = |event: &CommandEvent| match event {
        CommandEvent::Started(event) => format!("started {}", event.command_name),
        CommandEvent::Succeeded(event) => format!("succeeded {}", event.command_name),
        CommandEvent::Failed(event) => format!("failed {}", event.command_name),
        _ => String::new(),
    };
    recorder.take().iter().map(kind).collect()
}

#[tokio::test]
async fn oidc_prose_human_4_1_reauthentication_succeeds() {
    let server = started(single()).await;
    let (recorder, commands) = (Recorder::default(), CommandRecorder::default());
    let mut options = options_of(&server, human(refreshing(&recorder)), "");
    commands.listen(&mut options);
    let client = Client::with_options(options).unwrap();
    find(&client).await.unwrap();
    assert_eq!(recorder.calls(), 1);
    let _ = commands.take();
    require_reauthentication(&server, "find").await;
    find(&client).await.unwrap();
    assert_eq!(recorder.calls(), 2);
    assert_eq!(
        kinds(&commands),
        ["started find", "failed find", "started find", "succeeded find"]
    );
}

/// Runs `find` before and after a required reauthentication.
async fn reauthenticated(server: &TestServer, callback: OidcCallback) -> marula_driver::Result<()> {
    let client = client_of(server, human(callback));
    find(&client).await.expect("the first find");
    require_reauthentication(server, "find").await;
    find(&client).await
}

#[tokio::test]
async fn oidc_prose_human_4_2_reauthentication_succeeds_without_refresh_token() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    reauthenticated(&server, recorder.good()).await.unwrap();
    assert_eq!(recorder.calls(), 2);
}

#[tokio::test]
async fn oidc_prose_human_4_3_reauthentication_succeeds_with_an_unusable_refresh_token() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|_| Ok(OidcCredential::new(GOOD).with_refresh_token("bad")));
    reauthenticated(&server, callback).await.unwrap();
    assert_eq!(recorder.calls(), 2);
}

#[tokio::test]
async fn oidc_prose_human_4_4_reauthentication_fails() {
    let server = started(single()).await;
    let recorder = Recorder::default();
    let callback = recorder.callback(|call| {
        let token = if call == 1 { GOOD } else { BAD };
        Ok(OidcCredential::new(token).with_refresh_token("bad"))
    });
    assert_refused(&reauthenticated(&server, callback).await.unwrap_err(), 18);
    let refreshed: Vec<_> = recorder
        .params()
        .iter()
        .map(|params| params.refresh_token().is_some())
        .collect();
    assert_eq!(refreshed, [false, true, false]);
}
