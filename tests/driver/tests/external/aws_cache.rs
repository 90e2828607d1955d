//! Prose tests of the cache of `MONGODB-AWS`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use marula_driver::{
    Client, ErrorKind,
    bson::doc,
    internals::{AwsCache, Environment, Variables},
    options::{AwsCredentialProvider, AwsCredentials, ClientOptions, Credential},
};
use marula_driver_tests::{MetadataService, tls::Files};

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
    find(&client_in(&environment, &server)).await.unwrap();
    assert_eq!(service.requests().len(), 3);
    let cached = environment.cached_aws_credentials().unwrap();
    assert_eq!(cached.access_key_id, KEY);
    // Another client uses them.
    find(&client_in(&environment, &server)).await.unwrap();
    assert_eq!(service.requests().len(), 3);
    // Credentials that expire soon are replaced.
    for (minutes, requests) in [(1, 6), (4, 9), (6, 9)] {
        environment.cache_aws_credentials(Some(expiring_in(minutes)));
        find(&client_in(&environment, &server)).await.unwrap();
        assert_eq!(service.requests().len(), requests, "{minutes} minutes");
    }
    // Credentials that the server rejects are removed.
    let invalid = AwsCredentials::new("invalid", SECRET).with_session_token(TOKEN);
    let later = SystemTime::now() + Duration::from_secs(3600);
    environment.cache_aws_credentials(Some(invalid.with_expiration(later)));
    assert_refused(&find(&client_in(&environment, &server)).await.unwrap_err(), 18);
    assert!(environment.cached_aws_credentials().is_none());
    find(&client_in(&environment, &server)).await.unwrap();
    assert!(
        environment
            .cached_aws_credentials()
            .is_some_and(|cached| cached.access_key_id == KEY)
    );
}

#[tokio::test]
async fn aws_prose_cache_2_environment_variables_are_not_cached() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = ec2().await;
    let from_service = environment_with([], &service);
    let with_variables = |key: &str| Environment {
        variables: Variables::fixed([
            ("AWS_ACCESS_KEY_ID", key),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_SESSION_TOKEN", TOKEN),
        ]),
        ..from_service.clone()
    };
    find(&client_in(&from_service, &server)).await.unwrap();
    assert!(from_service.cached_aws_credentials().is_some());
    from_service.cache_aws_credentials(None);
    find(&client_in(&with_variables(KEY), &server)).await.unwrap();
    assert!(from_service.cached_aws_credentials().is_none());
    assert_refused(
        &find(&client_in(&with_variables("invalid"), &server))
            .await
            .unwrap_err(),
        18,
    );
    find(&client_in(&from_service, &server)).await.unwrap();
    assert!(from_service.cached_aws_credentials().is_some());
    // Cached credentials precede the variables, and are renewed by their own source.
    for minutes in [60, 1] {
        from_service.cache_aws_credentials(Some(expiring_in(minutes)));
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
    environment.cache_aws_credentials(Some(expiring_in(60)));
    fail(&server, 1, "saslContinue", doc! { "closeConnection": true }).await;
    let uri = uri_of(&server, "authMechanism=MONGODB-AWS&retryReads=false&appName=oidc");
    let client = environment.client(ClientOptions::parse(&uri).unwrap()).unwrap();
    let error = find(&client).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Network(_)), "{error:?}");
    assert!(environment.cached_aws_credentials().is_some());
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
        assert!(environment.cached_aws_credentials().is_none());
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
        assert_eq!(
            environment.cached_aws_credentials().is_some(),
            is_cached,
            "{expiration}"
        );
    }
}

/// A failed refresh is an error; expired credentials are not used.
#[tokio::test]
async fn a_failed_refresh_is_an_error() {
    let server = started(aws_server(Some(TOKEN))).await;
    let service = MetadataService::start(|_| (503, "busy")).await;
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x")];
    let environment = environment_with(variables, &service);
    environment.cache_aws_credentials(Some(expiring_in(1)));
    let error = find(&client_in(&environment, &server)).await.unwrap_err();
    assert!(missing(&error).contains("status 503: busy"), "{error}");
}

/// The user that logs in.
async fn user_of(client: &Client) -> String {
    let status = client
        .database("test")
        .run_command(doc! { "connectionStatus": 1 })
        .await
        .expect("a login");
    let users = status
        .get_document("authInfo")
        .and_then(|info| info.get_array("authenticatedUsers"))
        .expect("the users");
    let user = users[0].as_document().expect("a user");
    user.get_str("user").expect("a name").to_owned()
}

/// A key of another identity.
const OTHER: &str = "AKIDOTHER";

/// Clients with different roles, URLs or token files share the cache of the process, and not the credentials.
#[tokio::test]
async fn sources_of_other_identities_do_not_share_credentials() {
    let server = started(aws_server(Some(TOKEN)).aws_user(OTHER, SECRET, Some(TOKEN))).await;
    let of = |is_other: bool| body(if is_other { OTHER } else { KEY }, "2100-01-01T00:00:00Z");
    let service = MetadataService::start(move |line| {
        let credentials = of(line.contains("other"));
        if line.starts_with("POST") {
            let credentials = credentials.replace("\"Token\"", "\"SessionToken\"");
            return (200, format!(r#"{{"Credentials":{credentials}}}"#));
        }
        (200, credentials)
    })
    .await;
    let (files, cache) = (Files::new(), AwsCache::empty());
    let (file, other_file) = (files.write("token", "one"), files.write("second", "the-other"));
    let (url, other_url) = (format!("{}/one", service.url), format!("{}/other", service.url));
    let in_role = |file: &str, role: &str| {
        [
            ("AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(), file.to_owned()),
            ("AWS_ROLE_ARN".to_owned(), role.to_owned()),
        ]
        .to_vec()
    };
    let at = |variable: &str, value: &str| vec![(variable.to_owned(), value.to_owned())];
    let relative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
    let full = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    let environments = [
        (in_role(&file, "arn:one"), KEY),
        (in_role(&file, "arn:other"), OTHER),
        (in_role(&other_file, "arn:one"), OTHER),
        (at(relative, "/one"), KEY),
        (at(relative, "/other"), OTHER),
        (at(full, &url.replace("127.0.0.1", "localhost")), KEY),
        (at(full, &other_url.replace("127.0.0.1", "localhost")), OTHER),
    ]
    .map(|(variables, expected)| {
        let environment = Environment {
            variables: Variables::Fixed(variables),
            aws_cache: cache.clone(),
            ..environment_with([], &service)
        };
        (environment, expected)
    });
    for round in 0..2 {
        for (index, (environment, expected)) in environments.iter().enumerate() {
            let user = user_of(&client_in(environment, &server)).await;
            assert_eq!(user, *expected, "{round} {index}");
        }
        assert_eq!(service.requests().len(), environments.len(), "all are cached");
    }
    // A refusal removes the credentials of its own source only.
    let (first, rest) = environments.split_first().unwrap();
    let invalid = AwsCredentials::new("invalid", SECRET).with_session_token(TOKEN);
    let later = SystemTime::now() + Duration::from_secs(3600);
    first
        .0
        .cache_aws_credentials(Some(invalid.with_expiration(later)));
    assert_refused(&find(&client_in(&first.0, &server)).await.unwrap_err(), 18);
    assert!(first.0.cached_aws_credentials().is_none());
    for (environment, expected) in rest {
        let cached = environment.cached_aws_credentials().unwrap();
        assert_eq!(cached.access_key_id, *expected);
    }
}

/// The providers of two clients.
#[tokio::test]
async fn providers_of_other_clients_do_not_share_credentials() {
    let server = started(aws_server(Some(TOKEN)).aws_user(OTHER, SECRET, Some(TOKEN))).await;
    let environment = environment([]);
    for key in [KEY, OTHER, KEY] {
        let provider = AwsCredentialProvider::new(move || async move {
            let later = SystemTime::now() + Duration::from_secs(3600);
            let credentials = AwsCredentials::new(key, SECRET).with_session_token(TOKEN);
            Ok(credentials.with_expiration(later))
        });
        let mut options = ClientOptions::parse(&uri_of(&server, "retryReads=false")).unwrap();
        options.credential = Some(Credential::default().with_aws_credential_provider(provider));
        let client = environment.client(options).unwrap();
        assert_eq!(user_of(&client).await, key);
    }
}
