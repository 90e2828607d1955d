//! Credentials that are obtained when they are needed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client, EncryptionError, ErrorKind, Result,
    bson::doc,
    encryption::{
        AutoEncryptionOptions, AwsCredentialProvider, AwsCredentials, ClientEncryption, KmsProviders,
    },
    internals::MetadataServices,
    options::ClientOptions,
};
use marula_driver_tests::{HttpAnswer, MetadataService};

use super::support::{NAMESPACE, Setup, master_key};

/// Maps the first line of a request to a status and a body.
type Answer = fn(&str) -> (u16, &'static str);

async fn create(encryption: &ClientEncryption, provider: &str) -> Result<()> {
    let key = master_key(provider).expect("a master key");
    encryption
        .create_data_key(provider)
        .master_key(key)
        .await
        .map(drop)
}

fn on_demand(provider: &str) -> KmsProviders {
    KmsProviders::new().with(provider, doc! {})
}

/// The message of an error of credentials.
fn message(error: &marula_driver::Error) -> String {
    match error.kind() {
        ErrorKind::Encryption(EncryptionError::Credentials { message, .. }) => message.clone(),
        _ => panic!("{error:?}"),
    }
}

pub(crate) async fn aws_credentials_come_from_environment_variables() {
    let setup = Setup::new().await;
    let metadata = MetadataService::start(|_| (500, "not asked")).await;
    let variables = [
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "session"),
    ];
    let options = setup.options(on_demand("aws"));
    let encryption = setup.encryption_in(&options, variables, metadata.services());
    create(&encryption, "aws").await.expect("a key");
    assert_eq!(setup.kms.requests().len(), 1);
    assert!(metadata.requests().is_empty());
}

/// Credentials of another source would be those of another identity.
pub(crate) async fn half_of_an_access_key_is_an_error() {
    let setup = Setup::new().await;
    let options = setup.options(on_demand("aws"));
    let metadata = MetadataService::start(|_| (404, "")).await;
    for (set, missing) in [
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
    ] {
        let encryption = setup.encryption_in(&options, [(set, "x")], metadata.services());
        let message = message(&create(&encryption, "aws").await.expect_err("no credentials"));
        assert!(message.contains(missing), "{message}");
    }
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ".example.com/")];
    let encryption = setup.encryption_in(&options, variables, metadata.services());
    let message = message(&create(&encryption, "aws").await.expect_err("another host"));
    assert!(message.contains("begins with /"), "{message}");
    assert!(metadata.requests().is_empty());
}

pub(crate) async fn aws_credentials_come_from_ecs() {
    let setup = Setup::new().await;
    let metadata = MetadataService::start(|request| match request {
        "GET /task/1" => (
            200,
            r#"{"AccessKeyId":"id","SecretAccessKey":"secret","Token":"token"}"#,
        ),
        _ => (404, ""),
    })
    .await;
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/task/1")];
    let options = setup.options(on_demand("aws"));
    let encryption = setup.encryption_in(&options, variables, metadata.services());
    create(&encryption, "aws").await.expect("a key");
    assert_eq!(metadata.requests().len(), 1);
}

pub(crate) async fn aws_credentials_come_from_ec2() {
    let setup = Setup::new().await;
    let metadata = MetadataService::start(|request| match request {
        "PUT /latest/api/token" => (200, "the-token"),
        "GET /latest/meta-data/iam/security-credentials/" => (200, "the-role\n"),
        "GET /latest/meta-data/iam/security-credentials/the-role" => (
            200,
            r#"{"AccessKeyId":"id","SecretAccessKey":"secret","Token":"token","Code":"Success"}"#,
        ),
        _ => (404, ""),
    })
    .await;
    let options = setup.options(on_demand("aws"));
    let encryption = setup.encryption_in(&options, [], metadata.services());
    create(&encryption, "aws").await.expect("a key");
    let requests = metadata.requests();
    assert_eq!(requests.len(), 3, "{requests:?}");
    assert!(
        requests[0].contains("X-aws-ec2-metadata-token-ttl-seconds: 30"),
        "{}",
        requests[0]
    );
    assert!(
        requests[1].contains("X-aws-ec2-metadata-token: the-token"),
        "{}",
        requests[1]
    );
}

/// The token of a web identity is exchanged for the credentials of a role. ECS and EC2 are not asked.
pub(crate) async fn aws_credentials_come_from_a_web_identity() {
    let setup = Setup::new().await;
    let metadata = MetadataService::start(|request| {
        if request.starts_with("POST /?Action=AssumeRoleWithWebIdentity&") {
            let body =
                r#"{"Credentials":{"AccessKeyId":"id","SecretAccessKey":"secret","SessionToken":"session"}}"#;
            (200, body)
        } else {
            (404, "")
        }
    })
    .await;
    let files = marula_driver_tests::tls::Files::new();
    let token = files.write("token", "web.identity-token\n");
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/task/1"),
    ];
    let options = setup.options(on_demand("aws"));
    let encryption = setup.encryption_in(&options, variables, metadata.services());
    create(&encryption, "aws").await.expect("a key");
    let requests = metadata.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(
        requests[0].contains("WebIdentityToken=web.identity-token&"),
        "{}",
        requests[0]
    );
    // Errors do not contain the token.
    let refusing = MetadataService::start(|_| (403, "not allowed")).await;
    let encryption = setup.encryption_in(&options, variables, refusing.services());
    let refused = message(&create(&encryption, "aws").await.expect_err("refused"));
    assert!(
        refused.contains("not allowed") && !refused.contains("identity-token"),
        "{refused}"
    );
    let missing = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent"),
        ("AWS_ROLE_ARN", "arn"),
    ];
    let encryption = setup.encryption_in(&options, missing, metadata.services());
    let missing = message(&create(&encryption, "aws").await.expect_err("no file"));
    assert!(missing.contains("/nonexistent"), "{missing}");
}

/// The provider of AWS credentials returns after the metadata service of Azure was asked.
pub(crate) async fn credentials_of_several_providers_are_obtained_at_the_same_time() {
    let setup = Setup::new().await;
    let asked = Arc::new(tokio::sync::Notify::new());
    let azure = Arc::clone(&asked);
    let metadata = MetadataService::start(move |request| {
        if request.contains("/metadata/identity") {
            azure.notify_one();
            return (200, r#"{"access_token":"token","expires_in":"70"}"#);
        }
        (404, "")
    })
    .await;
    let provider = AwsCredentialProvider::new(move || {
        let asked = Arc::clone(&asked);
        async move {
            asked.notified().await;
            Ok(AwsCredentials::new("id", "secret"))
        }
    });
    let providers = on_demand("aws").with("azure", doc! {}).with("gcp", doc! {});
    let options = setup.options(providers).aws_credentials(provider);
    let encryption = setup.encryption_in(&options, [], metadata.services());
    create(&encryption, "azure").await.expect("a key");
}

/// Prose test 18 (Azure IMDS): the request, and the errors.
pub(crate) async fn client_side_encryption_prose_18_azure_tokens_are_obtained_and_cached() {
    let setup = Setup::new().await;
    let options = setup.options(on_demand("azure"));
    let metadata =
        MetadataService::start(|_| (200, r#"{"access_token":"magic-cookie","expires_in":"70"}"#)).await;
    let encryption = setup.encryption_in(&options, [], metadata.services());
    create(&encryption, "azure").await.expect("a key");
    create(&encryption, "azure").await.expect("a key");
    let requests = metadata.requests();
    assert_eq!(requests.len(), 1, "the token is cached");
    let line = "GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net%2F HTTP/1.1";
    assert!(requests[0].starts_with(line), "{}", requests[0]);
    assert!(requests[0].contains("Metadata: true") && requests[0].contains("Accept: application/json"));

    let cases: [(Answer, &str); 5] = [
        (|_| (200, "{}"), "no field access_token"),
        (|_| (200, r#"{"key": [}"#), "not JSON"),
        (|_| (404, r#"{"error":"not found here"}"#), "not found here"),
        (|_| (500, ""), "status 500"),
        (|_| (200, r#"{"access_token":"magic-cookie"}"#), "expires_in"),
    ];
    for (answer, part) in cases {
        let metadata = MetadataService::start(answer).await;
        let encryption = setup.encryption_in(&options, [], metadata.services());
        let message = message(&create(&encryption, "azure").await.expect_err(part));
        assert!(message.contains(part), "{part}: {message}");
        assert!(!message.contains("magic-cookie"), "{message}");
    }
    // A service that does not answer.
    let slow = MetadataService::start(|_| HttpAnswer::Silence).await;
    let limited = options.clone().timeout(Duration::from_secs(1));
    let encryption = setup.encryption_in(&limited, [], slow.services());
    let error = create(&encryption, "azure").await.expect_err("no answer");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert_eq!(slow.requests().len(), 1);
    // A token that is valid for less than a minute is not used again.
    let metadata =
        MetadataService::start(|_| (200, r#"{"access_token":"magic-cookie","expires_in":"59"}"#)).await;
    let encryption = setup.encryption_in(&options, [], metadata.services());
    create(&encryption, "azure").await.expect("a key");
    create(&encryption, "azure").await.expect("a key");
    assert_eq!(metadata.requests().len(), 2);
}

/// Prose test 19: a key of Azure is created with the token of the virtual machine, and not without one.
pub(crate) async fn client_side_encryption_prose_19_azure_keys_need_the_token_of_the_machine() {
    let setup = Setup::new().await;
    let options = setup.options(on_demand("azure"));
    let create = async |services| {
        let encryption = setup.encryption_in(&options, [], services);
        let key = doc! {
            "keyVaultEndpoint": "https://keyvault-drivers-2411.vault.azure.net/keys/", "keyName": "KEY-NAME",
        };
        encryption.create_data_key("azure").master_key(key).await
    };
    let none = MetadataService::start(|_| (404, "")).await;
    let message = message(&create(none.services()).await.expect_err("no token"));
    assert!(message.contains("status 404"), "{message}");
    let hosts = || {
        setup
            .kms
            .requests()
            .into_iter()
            .map(|request| request.host)
            .collect::<Vec<_>>()
    };
    assert!(hosts().is_empty(), "no request without a token");
    let machine =
        MetadataService::start(|_| (200, r#"{"access_token":"magic-cookie","expires_in":"70"}"#)).await;
    create(machine.services()).await.expect("a key");
    assert_eq!(hosts(), ["keyvault-drivers-2411.vault.azure.net"]);
}

/// Prose test 17: credentials of Google Cloud.
pub(crate) async fn client_side_encryption_prose_17_gcp_tokens_are_obtained() {
    let setup = Setup::new().await;
    let options = setup.options(on_demand("gcp"));
    let metadata = MetadataService::start(|_| (200, r#"{"access_token":"token","expires_in":3599}"#)).await;
    let encryption = setup.encryption_in(&options, [], metadata.services());
    create(&encryption, "gcp").await.expect("a key");
    let request = &metadata.requests()[0];
    assert!(
        request.starts_with("GET /computeMetadata/v1/instance/service-accounts/default/token "),
        "{request}"
    );
    assert!(request.contains("Metadata-Flavor: Google"), "{request}");
    let metadata = MetadataService::start(|_| (403, "not allowed")).await;
    let encryption = setup.encryption_in(&options, [], metadata.services());
    let message = message(&create(&encryption, "gcp").await.expect_err("refused"));
    assert!(message.contains("not allowed"), "{message}");
}

/// libmongocrypt gets the credentials of the other provider.
pub(crate) async fn the_reason_of_missing_credentials_of_one_of_two_providers_is_reported() {
    let setup = Setup::new().await;
    let providers = KmsProviders::new().with("gcp", doc! {}).with("aws", doc! {});
    let options = setup.options(providers);
    let failing = AwsCredentialProvider::new(|| async { Err("the safe is closed".into()) });
    let metadata = MetadataService::start(|_| (200, r#"{"access_token":"token","expires_in":3599}"#)).await;
    let encryption = setup.encryption_in(&options.aws_credentials(failing), [], metadata.services());
    create(&encryption, "gcp").await.expect("a key");
    let message = message(&create(&encryption, "aws").await.expect_err("no credentials"));
    assert!(message.contains("the safe is closed"), "{message}");
}

/// Prose test 15: without credentials in the environment, the creation of a key fails.
pub(crate) async fn client_side_encryption_prose_15_missing_credentials_are_errors() {
    let setup = Setup::new().await;
    let metadata = MetadataService::start(|_| (404, "")).await;
    let options = setup.options(on_demand("aws"));
    let encryption = setup.encryption_in(&options, [], metadata.services());
    let message = message(&create(&encryption, "aws").await.expect_err("no credentials"));
    assert!(message.contains("AWS_ACCESS_KEY_ID"), "{message}");
    // Providers with a name have no automatic credentials.
    let options = setup.options(on_demand("aws:name1"));
    let error = ClientEncryption::new(setup.client(), options).expect_err("not supported");
    assert!(error.to_string().contains("aws:name1"), "{error}");
}

/// Prose test 26: a provider of the application.
pub(crate) async fn client_side_encryption_prose_26_the_application_provides_aws_credentials() {
    let setup = Setup::new().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let provider = AwsCredentialProvider::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(AwsCredentials::new("id", "secret").with_session_token("session")) }
    });
    // Case 1: with explicit credentials.
    let explicit = KmsProviders::new().with("aws", doc! { "accessKeyId": "a", "secretAccessKey": "b" });
    let options = setup.options(explicit).aws_credentials(provider.clone());
    let error = ClientEncryption::new(setup.client(), options).expect_err("two sources");
    assert!(error.to_string().contains("one source"), "{error}");
    // Case 3: the same for automatic encryption.
    let explicit = KmsProviders::new().with("aws", doc! { "accessKeyId": "a", "secretAccessKey": "b" });
    let automatic = AutoEncryptionOptions::new(NAMESPACE, explicit).aws_credentials(provider.clone());
    let options = ClientOptions::parse(&setup.deployment.server.uri()).expect("a connection string");
    let error = Client::with_auto_encryption(options, automatic).expect_err("two sources");
    assert!(error.to_string().contains("one source"), "{error}");
    // Cases 2 and 4: it is called also if the environment has credentials.
    let options = setup.options(on_demand("aws")).aws_credentials(provider);
    let variables = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let encryption = setup.encryption_in(&options, variables, MetadataServices::default());
    assert_eq!(calls.load(Ordering::SeqCst), 0, "not before it is needed");
    create(&encryption, "aws").await.expect("a key");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let failing = AwsCredentialProvider::new(|| async { Err("the safe is closed".into()) });
    let options = setup.options(on_demand("aws")).aws_credentials(failing);
    let encryption = setup.encryption_in(&options, [], MetadataServices::default());
    let message = message(&create(&encryption, "aws").await.expect_err("no credentials"));
    assert!(message.contains("the safe is closed"), "{message}");
}

pub(crate) async fn a_provider_that_panics_is_an_error() {
    let setup = Setup::new().await;
    let at_once = AwsCredentialProvider::new(|| -> std::future::Pending<_> { panic!("no profile") });
    let later = AwsCredentialProvider::new(|| async { panic!("no profile") });
    for provider in [at_once, later] {
        let options = setup.options(on_demand("aws")).aws_credentials(provider);
        let encryption = setup.encryption_in(&options, [], MetadataServices::default());
        let error = create(&encryption, "aws").await.expect_err("a panic");
        assert!(error.to_string().contains("\"aws\""), "{error}");
        assert_eq!(
            message(&error),
            "the provider of the application failed: it panicked"
        );
    }
}

/// EKS Pod Identity and Greengrass. The token file is read for each request.
pub(crate) async fn aws_credentials_come_from_the_endpoint_of_a_container() {
    let setup = Setup::new().await;
    let metadata = MetadataService::start(|request| match request {
        "GET /v1/credentials" => (
            200,
            r#"{"AccessKeyId":"id","SecretAccessKey":"secret","Token":"token"}"#,
        ),
        _ => (404, ""),
    })
    .await;
    let files = marula_driver_tests::tls::Files::new();
    let file = files.write("token", "first.token\n");
    let url = format!("{}/v1/credentials", metadata.url);
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "unused.token"),
    ];
    let options = setup.options(on_demand("aws"));
    let encryption = setup.encryption_in(&options, variables, metadata.services());
    create(&encryption, "aws").await.expect("a key");
    let _ = files.write("token", "second.token");
    create(&encryption, "aws").await.expect("a key");
    let requests = metadata.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    for (request, token) in requests.iter().zip(["first.token", "second.token"]) {
        assert!(
            request.contains(&format!("\r\nAuthorization: {token}\r\n")),
            "{request}"
        );
    }
    // The variables before it are those of the specification.
    let keys = [
        variables[0],
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    let encryption = setup.encryption_in(&options, keys, metadata.services());
    create(&encryption, "aws").await.expect("a key");
    assert_eq!(metadata.requests().len(), 2);
    let refusing = MetadataService::start(|_| (400, "the token second.token is wrong")).await;
    let url = format!("{}/v1/credentials", refusing.url);
    let variables = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()), variables[1]];
    let encryption = setup.encryption_in(&options, variables, metadata.services());
    let refused = message(&create(&encryption, "aws").await.expect_err("refused"));
    assert!(
        refused.contains("the token (not shown) is wrong") && refused.contains("FULL_URI"),
        "{refused}"
    );
    let elsewhere = [(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "http://credentials.example.com/x",
    )];
    let encryption = setup.encryption_in(&options, elsewhere, metadata.services());
    let elsewhere = message(&create(&encryption, "aws").await.expect_err("another host"));
    assert!(
        elsewhere.starts_with("AWS_CONTAINER_CREDENTIALS_FULL_URI contains something else"),
        "{elsewhere}"
    );
}
