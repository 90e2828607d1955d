//! Prose test 11: TLS options of the key management services, whose endpoints are those of the master keys and the providers.
//! The driver opens the connections.

use std::net::SocketAddr;

use marula_driver::{
    EncryptionError, Error, ErrorKind,
    bson::{Document, doc},
    encryption::{ClientEncryption, ClientEncryptionOptions, KmsProviders},
    options::TlsOptions,
};
use marula_driver_tests::{
    Deployment,
    kms::{KmsDouble, Tamper},
    standalone,
    tls::Authority,
};

use super::support::NAMESPACE;

/// The part of the name of a provider without and with a client certificate.
const WITHOUT: &str = ":no_client_cert";
const WITH: &str = ":with_tls";

/// What a service answers to a client with a certificate.
#[derive(Clone, Copy)]
enum Answer {
    /// `200 OK`, and a body that is not JSON.
    Text,
    /// `404 Not Found`
    NotFound,
    /// That of the service.
    Valid,
}

/// The key vault, and services of one authority.
struct Stage {
    deployment: Deployment,
    /// With an expired certificate.
    expired: KmsDouble,
    /// With a certificate for another host.
    invalid_host: KmsDouble,
    /// Requires client certificates.
    service: KmsDouble,
}

impl Stage {
    async fn new() -> Self {
        let authority = Authority::new();
        let expired = authority.issue_expired(&["127.0.0.1"]);
        let invalid_host = authority.issue(&["wronghost.com"]);
        let valid = authority.issue(&["127.0.0.1"]);
        Self {
            deployment: standalone().await,
            expired: KmsDouble::with_identity(&authority, &expired).await,
            invalid_host: KmsDouble::with_identity(&authority, &invalid_host).await,
            service: KmsDouble::with_identity(&authority, &valid).await,
        }
    }

    fn tls(&self, has_certificate: bool) -> TlsOptions {
        let mut tls = self.service.tls();
        if !has_certificate {
            tls.certificate_key_file = None;
        }
        tls
    }

    /// Creates a data key. `name`: of the provider, with its suffix.
    async fn create(&self, name: &str, at: &KmsDouble, has_certificate: bool) -> Result<(), Error> {
        let providers = KmsProviders::new().with(name, credentials(kind_of(name), at.address));
        let options = ClientEncryptionOptions::new(NAMESPACE, providers);
        let options = options.kms_tls(name, self.tls(has_certificate));
        let encryption = ClientEncryption::new(&self.deployment.client, options).expect("options");
        self.create_by(&encryption, name, at).await
    }

    async fn create_by(
        &self,
        encryption: &ClientEncryption,
        name: &str,
        at: &KmsDouble,
    ) -> Result<(), Error> {
        let key = master_key(kind_of(name), at.address);
        encryption.create_data_key(name).master_key(key).await.map(drop)
    }

    /// With the certificate, the handshake succeeds, and the answer is that of the service.
    async fn check_answer(&self, answer: Answer, created: impl Future<Output = Result<(), Error>>) {
        let (response, part) = match answer {
            Answer::Text => ("200 OK", "parse error"),
            Answer::NotFound => ("404 Not Found", "HTTP status=404"),
            Answer::Valid => {
                created.await.expect("a key");
                return;
            }
        };
        let body = "no JSON";
        let response = format!(
            "HTTP/1.1 {response}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.service.tamper([Tamper::Replace(response.into_bytes())]);
        let error = created.await.expect_err(part);
        assert!(
            matches!(error.kind(), ErrorKind::Encryption(EncryptionError::Kms { .. })),
            "{error:?}"
        );
        assert!(error.to_string().contains(part) && !error.is_network(), "{error}");
    }

    /// Cases 1 to 4.
    async fn check(&self, kind: &str, answer: Answer) {
        let (without, expired, invalid_host) = tokio::join!(
            self.create(kind, &self.service, false),
            self.create(kind, &self.expired, false),
            self.create(kind, &self.invalid_host, false),
        );
        check_handshake(without, "CertificateRequired");
        check_handshake(expired, "expired");
        check_handshake(invalid_host, "not valid for name");
        assert!(self.service.requests().is_empty());
        self.check_answer(answer, self.create(kind, &self.service, true))
            .await;
    }
}

/// The TLS handshake failed.
fn check_handshake(created: Result<(), Error>, part: &str) {
    let error = created.expect_err(part);
    let ErrorKind::Encryption(EncryptionError::KmsConnection { cause, .. }) = error.kind() else {
        panic!("{error:?}");
    };
    assert!(cause.is_network(), "{cause:?}");
    assert!(format!("{error:#}").contains(part), "{part}: {error:#}");
}

fn kind_of(name: &str) -> &str {
    name.split(':').next().unwrap_or_default()
}

fn credentials(kind: &str, endpoint: SocketAddr) -> Document {
    let private_key = include_str!("gcp_key.txt").trim_ascii_end();
    let endpoint = endpoint.to_string();
    match kind {
        "aws" => doc! { "accessKeyId": "AKIAEXAMPLE", "secretAccessKey": "secret" },
        "azure" => doc! {
            "tenantId": "tenant", "clientId": "client", "clientSecret": "secret", "identityPlatformEndpoint": endpoint,
        },
        "gcp" => doc! { "email": "someone@example.com", "privateKey": private_key, "endpoint": endpoint },
        _ => doc! { "endpoint": endpoint },
    }
}

fn master_key(kind: &str, endpoint: SocketAddr) -> Document {
    match kind {
        "aws" => doc! {
            "region": "us-east-1",
            "key": "arn:aws:kms:us-east-1:579766882180:key/89fcc2c4-08b0-4bd9-9f25-e30687b580d0",
            "endpoint": endpoint.to_string(),
        },
        "azure" => doc! { "keyVaultEndpoint": "doesnotexist.invalid", "keyName": "foo" },
        "gcp" => doc! { "projectId": "foo", "location": "bar", "keyRing": "baz", "keyName": "foo" },
        _ => doc! {},
    }
}

/// Case 1.
pub(crate) async fn client_side_encryption_prose_11_aws_has_tls_options() {
    Stage::new().await.check("aws", Answer::Text).await;
}

/// Case 2.
pub(crate) async fn client_side_encryption_prose_11_azure_has_tls_options() {
    Stage::new().await.check("azure", Answer::NotFound).await;
}

/// Case 3.
pub(crate) async fn client_side_encryption_prose_11_gcp_has_tls_options() {
    Stage::new().await.check("gcp", Answer::NotFound).await;
}

/// Case 4.
pub(crate) async fn client_side_encryption_prose_11_kmip_has_tls_options() {
    Stage::new().await.check("kmip", Answer::Valid).await;
}

/// Case 5.
pub(crate) async fn client_side_encryption_prose_11_the_check_by_ocsp_endpoints_can_be_disabled() {
    let stage = Stage::new().await;
    let providers = KmsProviders::new().with("aws", doc! { "accessKeyId": "foo", "secretAccessKey": "bar" });
    let mut tls = TlsOptions::default();
    tls.disable_ocsp_endpoint_check = Some(true);
    let options = ClientEncryptionOptions::new(NAMESPACE, providers).kms_tls("aws", tls);
    ClientEncryption::new(&stage.deployment.client, options).expect("allowed");
}

/// Case 6: one object with two providers of each kind, of which one has a client certificate.
pub(crate) async fn client_side_encryption_prose_11_named_providers_have_tls_options() {
    let stage = Stage::new().await;
    let kinds = [
        ("aws", Answer::Text),
        ("azure", Answer::NotFound),
        ("gcp", Answer::NotFound),
        ("kmip", Answer::Valid),
    ];
    let mut providers = KmsProviders::new();
    let mut names = Vec::new();
    for (kind, answer) in kinds {
        for suffix in [WITHOUT, WITH] {
            let name = format!("{kind}{suffix}");
            providers = providers.with(&name, credentials(kind, stage.service.address));
            names.push((name, answer));
        }
    }
    let mut options = ClientEncryptionOptions::new(NAMESPACE, providers);
    for (name, _) in &names {
        options = options.kms_tls(name, stage.tls(name.ends_with(WITH)));
    }
    let encryption = ClientEncryption::new(&stage.deployment.client, options).expect("options");
    for (name, answer) in &names {
        let created = stage.create_by(&encryption, name, &stage.service);
        if name.ends_with(WITH) {
            stage.check_answer(*answer, created).await;
        } else {
            check_handshake(created.await, "CertificateRequired");
        }
    }
}
