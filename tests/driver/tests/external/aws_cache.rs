//! Prose tests of the cache of `MONGODB-AWS`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use marula_driver::{
    ErrorKind,
    bson::doc,
    internals::{Environment, Variables},
    options::{AwsCredentialProvider, AwsCredentials, ClientOptions, Credential},
};
use marula_driver_tests::MetadataService;

use crate::{
    aws::{KEY, SECRET, TOKEN, aws_server, body, client_in, ec2, environment, environment_with},
    support::{assert_refused, fail, find, missing, started, uri_of},
};

fn temporary() -> AwsCredentials {
    AwsCredentials::new(KEY, SECRET).with_session_token(TOKEN)
}

fn expiring_in(minutes: u64) -> AwsCredentials {
    temporary().with_expiration(SystemTime::now() + Duration::from_secs(60 * minutes))
}

#[tokio::test]
async fn aws_prose_cache_1_credentials_are_cached() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = ec2().await;
    let environment = environment_with([], &service);
    let cache = environment.aws_cache.clone();
    find(&client_in(&environment, &server)).await.unwrap();
    assert_eq!(service.requests().len(), 3);
    let cached = cache.get().unwrap();
    assert_eq!(cached.access_key_id, KEY);
    // Another client uses them.
    find(&client_in(&environment, &server)).await.unwrap();
    assert_eq!(service.requests().len(), 3);
    // Credentials that expire soon are replaced.
    for (minutes, requests) in [(1, 6), (4, 9), (6, 9)] {
        cache.set(Some(expiring_in(minutes)));
        find(&client_in(&environment, &server)).await.unwrap();
        assert_eq!(service.requests().len(), requests, "{minutes} minutes");
    }
    // Credentials that the server rejects are removed.
    let invalid = AwsCredentials::new("invalid", SECRET).with_session_token(TOKEN);
    let later = SystemTime::now() + Duration::from_secs(3600);
    cache.set(Some(invalid.with_expiration(later)));
    assert_refused(&find(&client_in(&environment, &server)).await.unwrap_err(), 18);
    assert!(cache.get().is_none());
    find(&client_in(&environment, &server)).await.unwrap();
    assert!(cache.get().is_some_and(|cached| cached.access_key_id == KEY));
}

#[tokio::test]
async fn aws_prose_cache_2_environment_variables_are_not_cached() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = ec2().await;
    let from_service = environment_with([], &service);
    let cache = from_service.aws_cache.clone();
    let with_variables = |key: &str| Environment {
        variables: Variables::fixed([
            ("AWS_ACCESS_KEY_ID", key),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_SESSION_TOKEN", TOKEN),
        ]),
        ..from_service.clone()
    };
    find(&client_in(&from_service, &server)).await.unwrap();
    assert!(cache.get().is_some());
    cache.set(None);
    find(&client_in(&with_variables(KEY), &server)).await.unwrap();
    assert!(cache.get().is_none());
    assert_refused(
        &find(&client_in(&with_variables("invalid"), &server))
            .await
            .unwrap_err(),
        18,
    );
    find(&client_in(&from_service, &server)).await.unwrap();
    assert!(cache.get().is_some());
    // Cached credentials precede the variables, and are renewed by their own source.
    for minutes in [60, 1] {
        cache.set(Some(expiring_in(minutes)));
        find(&client_in(&with_variables("invalid"), &server))
            .await
            .unwrap();
    }
}

/// The connection is lost during the conversation: the credentials were not refused.
#[tokio::test]
async fn a_network_error_does_not_empty_the_cache() {
    let server = started(aws_server(Some(TOKEN))).await;
    let environment = environment([]);
    environment.aws_cache.set(Some(expiring_in(60)));
    fail(&server, 1, "saslContinue", doc! { "closeConnection": true }).await;
    let uri = uri_of(&server, "authMechanism=MONGODB-AWS&retryReads=false&appName=oidc");
    let client = environment.client(ClientOptions::parse(&uri).unwrap()).unwrap();
    let error = find(&client).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Network(_)), "{error:?}");
    assert!(environment.aws_cache.get().is_some());
    find(&client).await.unwrap();
}

/// The provider of one client does not change the cache of the process.
#[tokio::test]
async fn credentials_of_a_provider_are_cached_for_the_client_until_they_expire() {
    for (minutes, expected) in [(None, 4), (Some(4), 4), (Some(60), 1)] {
        let server = started(aws_server(Some(TOKEN))).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let provider = AwsCredentialProvider::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            async move { Ok(minutes.map_or_else(temporary, expiring_in)) }
        });
        let environment = environment([]);
        let uri = uri_of(&server, "minPoolSize=4");
        let mut options = ClientOptions::parse(&uri).unwrap();
        options.credential = Some(Credential::default().with_aws_credential_provider(provider));
        options.max_connecting = 1;
        let client = environment.client(options).unwrap();
        server.wait_for_command("saslContinue", 4).await;
        find(&client).await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), expected, "{minutes:?}");
        assert!(environment.aws_cache.get().is_none());
    }
}

/// Credentials whose end of validity is unknown are used, and not cached.
#[tokio::test]
async fn credentials_without_expiration_are_not_cached() {
    let server = started(aws_server(Some(TOKEN))).await;
    for (expiration, is_cached) in [("2100-01-01T00:00:00Z", true), ("soon", false)] {
        let service = MetadataService::start(move |_| (200, body(KEY, expiration))).await;
        let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x")];
        let environment = environment_with(variables, &service);
        find(&client_in(&environment, &server)).await.unwrap();
        assert_eq!(environment.aws_cache.get().is_some(), is_cached, "{expiration}");
    }
}

/// A failed refresh is an error; expired credentials are not used.
#[tokio::test]
async fn a_failed_refresh_is_an_error() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = MetadataService::start(|_| (503, "busy")).await;
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x")];
    let environment = environment_with(variables, &service);
    environment.aws_cache.set(Some(expiring_in(1)));
    let error = find(&client_in(&environment, &server)).await.unwrap_err();
    assert!(missing(&error).contains("status 503: busy"), "{error}");
}
