//! The built-in environments of `MONGODB-OIDC`, with doubles of the metadata services.

use marula_driver::{
    Client, Error,
    internals::{Environment, Variables, cached_oidc_token},
    options::ClientOptions,
};
use marula_driver_tests::{HttpAnswer, MetadataService};
use marula_test_server::TestServer;

use crate::support::{GOOD, TokenFile, assert_refused, find, missing, oidc_server, started, uri_of};

const AZURE: &str = "ENVIRONMENT:azure,TOKEN_RESOURCE:api%3A%2F%2Fa%20b";
const GCP: &str = "ENVIRONMENT:gcp,TOKEN_RESOURCE:api%3A%2F%2Fa%20b";

fn client_in(environment: &Environment, server: &TestServer, user: &str, properties: &str) -> Client {
    let options = format!("retryReads=false&authMechanism=MONGODB-OIDC&authMechanismProperties={properties}");
    let uri = uri_of(server, &options).replacen("mongodb://", &format!("mongodb://{user}"), 1);
    let options = ClientOptions::parse(&uri).expect("a connection string");
    environment.client(options).expect("a client")
}

fn services(service: &MetadataService) -> Environment {
    Environment {
        services: service.services(),
        variables: Variables::fixed([]),
        ..Environment::default()
    }
}

fn variables<const N: usize>(variables: [(&str, &str); N]) -> Environment {
    Environment {
        variables: Variables::fixed(variables),
        ..Environment::default()
    }
}

fn azure_body(token: &str) -> String {
    format!(r#"{{"access_token":"{token}","expires_in":"3599"}}"#)
}

#[tokio::test]
async fn oidc_prose_5_1_azure_without_username() {
    let server = started(oidc_server()).await;
    let service = MetadataService::start(|_| (200, azure_body(GOOD))).await;
    let client = client_in(&services(&service), &server, "", AZURE);
    find(&client).await.unwrap();
    let requests = service.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(
        request.starts_with(
            "GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=api%3A%2F%2Fa%20b HTTP/1.1\r\n"
        ),
        "{request}"
    );
    assert!(
        request.contains("\r\nAccept: application/json\r\n") && request.contains("\r\nMetadata: true\r\n")
    );
}

#[tokio::test]
async fn oidc_prose_5_2_azure_with_a_wrong_username() {
    let server = started(oidc_server()).await;
    let service = MetadataService::start(|line| {
        if line.ends_with("&client_id=bad") {
            (
                400,
                r#"{"error":"invalid_request","error_description":"Identity not found"}"#.to_owned(),
            )
        } else {
            (200, azure_body(GOOD))
        }
    })
    .await;
    let client = client_in(&services(&service), &server, "bad@", AZURE);
    let error = find(&client).await.unwrap_err();
    assert!(missing(&error).contains("status 400"), "{error}");
    assert!(missing(&error).contains("Identity not found"), "{error}");
}

#[tokio::test]
async fn gcp_provides_a_token() {
    let server = started(oidc_server()).await;
    let service = MetadataService::start(|_| (200, format!("{GOOD}\n"))).await;
    let client = client_in(&services(&service), &server, "", GCP);
    find(&client).await.unwrap();
    let request = service.requests().remove(0);
    assert!(
        request.starts_with(
            "GET /computeMetadata/v1/instance/service-accounts/default/identity?audience=api%3A%2F%2Fa%20b HTTP/1.1\r\n"
        ),
        "{request}"
    );
    assert!(request.contains("\r\nMetadata-Flavor: Google\r\n"), "{request}");
}

#[tokio::test]
async fn k8s_reads_the_first_file_that_is_named() {
    let server = started(oidc_server()).await;
    let (good, other) = (TokenFile::new(&format!("{GOOD}\n")), TokenFile::new("other"));
    for environment in [
        variables([
            ("AZURE_FEDERATED_TOKEN_FILE", good.path()),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", other.path()),
        ]),
        variables([("AWS_WEB_IDENTITY_TOKEN_FILE", good.path())]),
    ] {
        find(&client_in(&environment, &server, "", "ENVIRONMENT:k8s"))
            .await
            .unwrap();
    }
    let error = find(&client_in(&variables([]), &server, "", "ENVIRONMENT:k8s"))
        .await
        .unwrap_err();
    let path = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    assert!(missing(&error).contains(path), "{error}");
}

/// A new token is obtained for reauthentication, and cached for the client.
#[tokio::test]
async fn an_environment_is_asked_again_for_reauthentication() {
    let server = started(oidc_server().oidc_token("second", "test_user1")).await;
    let file = TokenFile::new(GOOD);
    let environment = variables([("OIDC_TOKEN_FILE", file.path())]);
    let client = client_in(&environment, &server, "", "ENVIRONMENT:test");
    find(&client).await.unwrap();
    std::fs::write(file.path(), "second").unwrap();
    assert!(server.revoke_oidc_token(GOOD));
    find(&client).await.unwrap();
    assert_eq!(cached_oidc_token(&client).as_deref(), Some("second"));
}

async fn error_with(answer: HttpAnswer, properties: &str, options: &str) -> Error {
    let server = started(oidc_server()).await;
    let service = MetadataService::start(move |_| answer.clone()).await;
    let properties = format!("{properties}&{options}");
    let client = client_in(&services(&service), &server, "", &properties);
    find(&client).await.expect_err("no token")
}

#[tokio::test]
async fn responses_other_than_a_token_are_errors() {
    const HTML: &str = "<!DOCTYPE html><html><body>Sign in</body></html>";
    let raw = |text: &str| HttpAnswer::Raw(text.as_bytes().to_vec());
    for (properties, answer, why) in [
        (AZURE, HttpAnswer::from((200, HTML)), "not a JSON document"),
        (AZURE, HttpAnswer::from((200, "{}")), "no field access_token"),
        (
            AZURE,
            HttpAnswer::from((200, r#"{"access_token":7}"#)),
            "no field access_token",
        ),
        (
            AZURE,
            HttpAnswer::from((200, r#"{"access_token":""}"#)),
            "something else than a token",
        ),
        (AZURE, HttpAnswer::from((302, HTML)), "status 302"),
        (GCP, HttpAnswer::from((200, HTML)), "something else than a token"),
        (GCP, HttpAnswer::from((200, "")), "something else than a token"),
        (GCP, HttpAnswer::from((503, "try later")), "status 503: try later"),
        (
            GCP,
            raw("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ntok"),
            "did not reply",
        ),
        (GCP, raw("220 mail.example.com ESMTP\r\n"), "did not reply"),
        (AZURE, raw(""), "did not reply"),
    ] {
        let error = error_with(answer, properties, "").await;
        assert!(missing(&error).contains(why), "{why}: {error}");
    }
}

/// The content of a token file that is not a token is not part of the error.
#[tokio::test]
async fn files_other_than_a_token_are_errors() {
    let server = started(oidc_server()).await;
    let file = TokenFile::new("two words");
    let environment = variables([("OIDC_TOKEN_FILE", file.path())]);
    let error = find(&client_in(&environment, &server, "", "ENVIRONMENT:test"))
        .await
        .unwrap_err();
    assert!(missing(&error).contains("something else than a token"), "{error}");
    assert!(!error.to_string().contains("two words"), "{error}");
    let error = find(&client_in(&variables([]), &server, "", "ENVIRONMENT:test"))
        .await
        .unwrap_err();
    assert!(missing(&error).contains("OIDC_TOKEN_FILE"), "{error}");
    let file = TokenFile::new("another-token");
    let environment = variables([("OIDC_TOKEN_FILE", file.path())]);
    let error = find(&client_in(&environment, &server, "", "ENVIRONMENT:test"))
        .await
        .unwrap_err();
    assert_refused(&error, 18);
    assert!(!format!("{error:?}").contains("another-token"), "{error:?}");
}

/// A metadata service that accepts the request and does not reply ends the operation at its time
/// limit.
#[tokio::test]
async fn a_silent_service_ends_with_the_time_limit() {
    let error = error_with(HttpAnswer::Silence, AZURE, "timeoutMS=200").await;
    assert!(error.is_timeout(), "{error:?}");
}
