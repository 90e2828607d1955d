//! A key vault on a server of the test, and encryption with the test services.

use std::time::Duration;

use marula_driver::{
    Client,
    bson::{Document, doc},
    encryption::{ClientEncryption, ClientEncryptionOptions, KmsProviders},
    internals::{Environment, MetadataServices, Variables, encryption::client_encryption},
};
use marula_driver_tests::{Deployment, kms::KmsDouble, standalone};
use tokio::runtime::Builder;

/// The time limit of a test.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test in its own runtime.
pub(crate) fn run(test: impl Future<Output = ()>) -> Result<(), libtest_mimic::Failed> {
    run_on(Builder::new_multi_thread().worker_threads(2), test)
}

/// As [`run`], in a runtime of one thread.
pub(crate) fn run_on_one_thread(test: impl Future<Output = ()>) -> Result<(), libtest_mimic::Failed> {
    run_on(&mut Builder::new_current_thread(), test)
}

fn run_on(builder: &mut Builder, test: impl Future<Output = ()>) -> Result<(), libtest_mimic::Failed> {
    let runtime = builder.enable_all().build()?;
    let result = runtime.block_on(async { tokio::time::timeout(LIMIT, test).await });
    runtime.shutdown_background();
    result.map_err(|_| format!("did not end within {LIMIT:?}").into())
}

pub(crate) const NAMESPACE: &str = "encryption.keys";
pub(crate) const LOCAL_KEY: [u8; 96] = [7; 96];

/// A server, a client, and the key management services.
pub(crate) struct Setup {
    /// Stops when it is dropped.
    pub(crate) deployment: Deployment,
    pub(crate) kms: KmsDouble,
}

impl Setup {
    pub(crate) async fn new() -> Self {
        Self::on(standalone().await).await
    }

    pub(crate) async fn on(deployment: Deployment) -> Self {
        Self {
            deployment,
            kms: KmsDouble::start().await,
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.deployment.client
    }

    /// Options with the test services.
    pub(crate) fn options(&self, providers: KmsProviders) -> ClientEncryptionOptions {
        self.kms
            .configure(ClientEncryptionOptions::new(NAMESPACE, providers))
    }

    pub(crate) fn encryption_with(&self, options: ClientEncryptionOptions) -> ClientEncryption {
        ClientEncryption::new(self.client(), options).expect("options")
    }

    pub(crate) fn encryption(&self) -> ClientEncryption {
        self.encryption_with(self.options(providers()))
    }

    /// Encryption with these environment variables and metadata services.
    pub(crate) fn encryption_in<const N: usize>(
        &self,
        options: &ClientEncryptionOptions,
        variables: [(&str, &str); N],
        services: MetadataServices,
    ) -> ClientEncryption {
        let environment = Environment {
            variables: Variables::fixed(variables),
            ..Environment::default()
        };
        client_encryption(self.client(), options, &environment, services).expect("options")
    }
}

/// All providers, with credentials.
pub(crate) fn providers() -> KmsProviders {
    let private_key = include_str!("gcp_key.txt").trim_ascii_end();
    KmsProviders::new()
        .local(&LOCAL_KEY)
        .with(
            "aws",
            doc! { "accessKeyId": "AKIAEXAMPLE", "secretAccessKey": "aws-secret" },
        )
        .with(
            "azure",
            doc! { "tenantId": "tenant", "clientId": "client", "clientSecret": "azure-secret" },
        )
        .with(
            "gcp",
            doc! { "email": "someone@example.com", "privateKey": private_key },
        )
        .with("kmip", doc! { "endpoint": "localhost:5698" })
        .with(
            "local:second",
            doc! { "key": marula_driver::bson::Binary {
                subtype: marula_driver::bson::BinarySubtype::Generic,
                bytes: vec![8; 96],
            } },
        )
}

/// All providers, with the key of the provider `local` in the files of the specification.
pub(crate) fn spec_providers() -> KmsProviders {
    use base64::{Engine, engine::general_purpose::STANDARD};

    let key = "Mng0NCt4ZHVUYUJCa1kxNkVyNUR1QURhZ2h2UzR2d2RrZzh0cFBwM3R6NmdWMDFBMUN3YkQ5aXRRMkhGRGdQV09wOGVNYUMxT2k3NjZKelhaQmRCZGJkTXVyZG9uSjFk";
    let key = STANDARD.decode(key).expect("base64");
    providers().local(key.as_slice().try_into().expect("96 bytes"))
}

/// A master key of the provider. `None` for `local`.
pub(crate) fn master_key(provider: &str) -> Option<Document> {
    Some(match provider {
        "aws" => {
            doc! { "region": "us-east-1", "key": "arn:aws:kms:us-east-1:579766882180:key/89fcc2c4-08b0-4bd9-9f25-e30687b580d0" }
        }
        "azure" => doc! { "keyVaultEndpoint": "example.vault.azure.net", "keyName": "name" },
        "gcp" => doc! { "projectId": "project", "location": "global", "keyRing": "ring", "keyName": "name" },
        "kmip" => doc! {},
        _ => return None,
    })
}
