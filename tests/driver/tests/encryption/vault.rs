//! Data keys: custom material, several providers, their endpoints; and views.

use base64::{Engine, engine::general_purpose::STANDARD};
use marula_driver::{
    Client, EncryptionError, Error, ErrorKind,
    bson::{Bson, Document, Uuid, doc},
    encryption::{
        AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions, EncryptionAlgorithm, KmsProviders,
    },
    internals::{Environment, MetadataServices, encryption::client_encryption},
    options::{ClientOptions, WriteConcern},
};
use marula_driver_tests::{ClosedPort, dns::DnsServer, kms::Tamper};

use super::{
    automatic::{Automatic, local, patients, recorded, take},
    support::{NAMESPACE, Setup, master_key, providers, spec_providers},
};

/// Prose test 1: a key of known material and with a known id has a known ciphertext.
pub(crate) async fn client_side_encryption_prose_1_key_material_is_that_of_the_application() {
    let setup = Setup::new().await;
    let encryption = setup.encryption_with(setup.options(spec_providers()));
    let material = "xPTAjBRG5JiPm+d3fj6XLi2q5DMXUS/f1f+SMAlhhwkhDRL0kr8r9GDLIGTAGlvC+HVjSIgdL+RKwZCvpXSyxTICWSXTUYsWYPyu3IoHbuBZdmw2faM3WhcRIgbMReU5";
    let material = STANDARD.decode(material).expect("base64");
    let id = encryption
        .create_data_key("local")
        .key_material(material)
        .await
        .expect("a key");
    let mut key = encryption.get_key(id).await.expect("a key").expect("a key");
    encryption.delete_key(id).await.expect("a delete");
    let zero = Uuid::from_bytes([0; 16]);
    key.insert("_id", zero);
    let keys = setup
        .client()
        .database("encryption")
        .collection::<Document>("keys");
    keys.insert_one(&key)
        .write_concern(WriteConcern::majority())
        .await
        .expect("an insert");
    let value = encryption
        .encrypt("test", zero, EncryptionAlgorithm::Deterministic)
        .await
        .expect("a value");
    let expected = "AQAAAAAAAAAAAAAAAAAAAAACz0ZOLuuhEYi807ZXTdhbqhLaS2/t9wLifJnnNYwiw79d75QYIZ6M/aYC1h9nCzCjZ7pGUpAuNnkUhnIXM3PjrA==";
    assert_eq!(STANDARD.encode(value.bytes), expected);
}

/// Prose test 2: keys of all providers; a value that is encrypted already is not encrypted again.
pub(crate) async fn client_side_encryption_prose_2_values_are_not_encrypted_twice() {
    let automatic = Automatic::new().await;
    let setup = &automatic.setup;
    let encrypt = doc! {
        "keyId": "/placeholder", "bsonType": "string", "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
    };
    let schema =
        doc! { "bsonType": "object", "properties": { "encrypted_placeholder": { "encrypt": encrypt } } };
    let options = AutoEncryptionOptions::new(NAMESPACE, providers())
        .schema("db.coll", schema)
        .extra_options(automatic.analysis.extra_options());
    let (client, sent) = recorded(automatic.options(""), setup.kms.configure_automatic(options));
    let coll = client.database("db").collection::<Document>("coll");
    let encryption = ClientEncryption::new(&client, setup.options(providers())).expect("options");
    for provider in ["local", "aws", "azure", "gcp", "kmip"] {
        take(&sent);
        let name = format!("{provider}_altname");
        let mut create = encryption.create_data_key(provider).alt_names([name.clone()]);
        if let Some(key) = master_key(provider) {
            create = create.master_key(key);
        }
        let id = create.await.expect(provider);
        let insert = take(&sent).into_iter().find(|(command, _)| command == "insert");
        let concern = insert.and_then(|(_, command)| command.get_document("writeConcern").cloned().ok());
        assert_eq!(concern, Some(doc! { "w": "majority" }), "{provider}");
        let keys = setup
            .client()
            .database("encryption")
            .collection::<Document>("keys");
        let key = keys
            .find_one(doc! { "_id": id })
            .await
            .expect("a find")
            .expect("a key");
        let master_key = key.get_document("masterKey").expect("a master key");
        assert_eq!(master_key.get_str("provider").expect("a provider"), provider);
        let text = format!("hello {provider}");
        let value = encryption
            .encrypt(&text, id, EncryptionAlgorithm::Deterministic)
            .await
            .expect(provider);
        coll.insert_one(&doc! { "_id": provider, "value": value.clone() })
            .await
            .expect("an insert");
        let found = coll
            .find_one(doc! { "_id": provider })
            .await
            .expect("a find")
            .expect("a document");
        assert_eq!(found.get_str("value").expect("a text"), text);
        let same = encryption
            .encrypt(&text, name, EncryptionAlgorithm::Deterministic)
            .await
            .expect(provider);
        assert_eq!(same, value, "{provider}");
        let twice = coll
            .insert_one(&doc! { "encrypted_placeholder": value, "placeholder": provider })
            .await;
        let error = twice.expect_err("encrypted already");
        assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
    }
}

/// Prose test 3 with an external key vault: its client authenticates as another user, who does not exist.
pub(crate) async fn client_side_encryption_prose_3_an_external_key_vault_has_its_own_credentials() {
    let automatic = Automatic::new().await;
    let uri = automatic.setup.deployment.server.uri();
    let external = uri.replacen("mongodb://", "mongodb://fake-user:fake-pwd@", 1);
    let external = Client::connect(external).await.expect("a connection string");
    let (client, _sent) =
        automatic.client_with("", automatic.encryption().key_vault_client(external.clone()));
    let error = patients(&client)
        .insert_one(&doc! { "ssn": "test" })
        .await
        .expect_err("an unknown user");
    let ErrorKind::Encryption(EncryptionError::KeyVault(cause)) = error.kind() else {
        panic!("{error:?}");
    };
    assert!(matches!(cause.kind(), ErrorKind::Authentication(_)), "{cause:?}");
    let options = automatic.setup.options(providers());
    let encryption = ClientEncryption::new(&external, options).expect("options");
    let error = encryption
        .encrypt("test", "name", EncryptionAlgorithm::Deterministic)
        .await;
    assert!(matches!(
        error.expect_err("an unknown user").kind(),
        ErrorKind::Encryption(EncryptionError::KeyVault(_))
    ));
    // Nothing is read from the key vault without an encrypted value.
    patients(&client)
        .insert_one(&doc! { "name": "test" })
        .await
        .expect("an insert");
    // Without it, the key vault is on the deployment of the client.
    let (client, _sent) = automatic.client("");
    patients(&client)
        .insert_one(&doc! { "ssn": "test" })
        .await
        .expect("an insert");
    let encryption = automatic.setup.encryption();
    encryption
        .encrypt("test", automatic.key, EncryptionAlgorithm::Deterministic)
        .await
        .expect("a value");
}

/// Prose test 5.
pub(crate) async fn client_side_encryption_prose_5_views_cannot_be_encrypted() {
    let automatic = Automatic::new().await;
    let database = automatic.setup.client().database("hospital");
    database
        .create_collection("view")
        .view_on("patients")
        .await
        .expect("a view");
    let client = automatic.client_with(
        "",
        AutoEncryptionOptions::new(NAMESPACE, local()).extra_options(automatic.analysis.extra_options()),
    );
    let view = client.0.database("hospital").collection::<Document>("view");
    let error = view.insert_one(&doc! { "ssn": "x" }).await.expect_err("a view");
    assert!(
        error.to_string().contains("cannot auto encrypt a view"),
        "{error}"
    );
    patients(&client.0)
        .insert_one(&doc! { "ssn": "x" })
        .await
        .expect("an insert");
}

/// Providers whose own endpoints are given.
fn with_endpoints(azure: &str, gcp: &str, kmip: &str) -> KmsProviders {
    let private_key = include_str!("gcp_key.txt").trim_ascii_end();
    KmsProviders::new()
        .with("aws", doc! { "accessKeyId": "AKIAEXAMPLE", "secretAccessKey": "aws-secret" })
        .with(
            "azure",
            doc! { "tenantId": "tenant", "clientId": "client", "clientSecret": "secret", "identityPlatformEndpoint": azure },
        )
        .with("gcp", doc! { "email": "someone@example.com", "privateKey": private_key, "endpoint": gcp })
        .with("kmip", doc! { "endpoint": kmip })
}

/// Prose test 7, cases 6 to 8, 10 and 12, with connections of the driver: the name cannot be resolved.
pub(crate) async fn client_side_encryption_prose_7_endpoints_are_resolved() {
    const UNKNOWN: &str = "doesnotexist.invalid";
    let setup = Setup::new().await;
    let dns = DnsServer::start().await;
    let environment = Environment {
        dns: dns.resolver(),
        ..Environment::default()
    };
    let (https, kmip) = (format!("{UNKNOWN}:443"), format!("{UNKNOWN}:5698"));
    let cases = [
        ("aws", Some(UNKNOWN)),
        ("azure", None),
        ("gcp", Some("cloudkms.googleapis.com:443")),
        ("kmip", None),
        ("kmip", Some(kmip.as_str())),
    ];
    let created = cases.map(async |(provider, endpoint)| {
        let options = ClientEncryptionOptions::new(NAMESPACE, with_endpoints(&https, &https, &kmip));
        let services = MetadataServices::default();
        let encryption =
            client_encryption(setup.client(), &options, &environment, services).expect("options");
        let mut key = master_key(provider).expect("a master key");
        if let Some(endpoint) = endpoint {
            key.insert("endpoint", endpoint);
        }
        encryption.create_data_key(provider).master_key(key).await
    });
    // Network errors are retried after a delay.
    let created = futures_util::future::join_all(created).await;
    for (created, case) in created.into_iter().zip(cases) {
        let error = created.expect_err("an unknown host");
        assert!(error.is_network(), "{case:?}: {error:?}");
        let text = format!("{error:#}");
        assert!(
            text.contains(UNKNOWN) && text.contains("resolve"),
            "{case:?}: {text}"
        );
    }
}

/// Prose test 7. A name that cannot be resolved is one that the double does not know.
pub(crate) async fn client_side_encryption_prose_7_endpoints_are_those_of_the_master_key() {
    const UNKNOWN: &str = "doesnotexist.invalid";
    let setup = Setup::new().await;
    let encryption = |providers| setup.encryption_with(setup.options(providers));
    let valid = || {
        encryption(with_endpoints(
            "login.microsoftonline.com:443",
            "oauth2.googleapis.com:443",
            "localhost:5698",
        ))
    };
    let invalid = || {
        let (https, kmip) = (format!("{UNKNOWN}:443"), format!("{UNKNOWN}:5698"));
        encryption(with_endpoints(&https, &https, &kmip))
    };
    let with = |mut key: Document, field: &str, value: &str| {
        key.insert(field, value);
        key
    };
    let create = async |encryption: ClientEncryption, provider: &str, key: &Document| -> Result<(), Error> {
        let id = encryption.create_data_key(provider).master_key(key).await?;
        let value = encryption
            .encrypt("test", id, EncryptionAlgorithm::Deterministic)
            .await?;
        assert_eq!(encryption.decrypt(&value).await?, Bson::from("test"));
        Ok(())
    };
    let of = |provider: &str| master_key(provider).expect("a master key");
    let kmip = || doc! { "keyId": "1" };
    let aws = "kms.us-east-1.amazonaws.com";
    for (number, provider, key) in [
        (1, "aws", of("aws")),
        (2, "aws", with(of("aws"), "endpoint", aws)),
        (3, "aws", with(of("aws"), "endpoint", &format!("{aws}:443"))),
        (7, "azure", of("azure")),
        (
            8,
            "gcp",
            with(of("gcp"), "endpoint", "cloudkms.googleapis.com:443"),
        ),
        (10, "kmip", kmip()),
        (11, "kmip", with(kmip(), "endpoint", "localhost:5698")),
    ] {
        create(valid(), provider, &key)
            .await
            .unwrap_or_else(|error| panic!("case {number}: {error:#}"));
    }
    for (number, encryption, provider, key) in [
        (6, valid(), "aws", with(of("aws"), "endpoint", UNKNOWN)),
        (7, invalid(), "azure", of("azure")),
        (
            8,
            invalid(),
            "gcp",
            with(of("gcp"), "endpoint", "cloudkms.googleapis.com:443"),
        ),
        (
            9,
            valid(),
            "gcp",
            with(of("gcp"), "endpoint", &format!("{UNKNOWN}:443")),
        ),
        (10, invalid(), "kmip", kmip()),
        (
            12,
            valid(),
            "kmip",
            with(kmip(), "endpoint", &format!("{UNKNOWN}:5698")),
        ),
    ] {
        let error = create(encryption, provider, &key)
            .await
            .expect_err("an unknown host");
        let ErrorKind::Encryption(EncryptionError::KmsConnection { endpoint, .. }) = error.kind() else {
            panic!("case {number}: {error:?}");
        };
        assert!(endpoint.starts_with(UNKNOWN), "case {number}: {endpoint}");
    }
    // Case 9: for a service that it does not know, Google's endpoint of tokens returns another kind of token.
    let body = r#"{"id_token":"token"}"#;
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    setup.kms.tamper([Tamper::Replace(response.into_bytes())]);
    let key = with(of("gcp"), "endpoint", &format!("{UNKNOWN}:443"));
    let error = create(valid(), "gcp", &key).await.expect_err("no token");
    assert!(error.to_string().contains("Invalid KMS response"), "{error}");
    // Case 5: the key is in another region.
    let key = with(of("aws"), "endpoint", "kms.us-east-2.amazonaws.com");
    let error = create(valid(), "aws", &key).await.expect_err("another region");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Encryption(EncryptionError::Kms { .. } | EncryptionError::Rejected { .. })
        ),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("HTTP status=400. NotFoundException: ")
            && text.contains("another region")
            && text.contains(r#"kms.us-east-2.amazonaws.com:443 of the provider "aws""#),
        "{text}"
    );
    // Case 4: no service listens on the port. The connection is opened by the driver.
    let closed = ClosedPort::new();
    let port = closed.address().port();
    let options = ClientEncryptionOptions::new(
        NAMESPACE,
        KmsProviders::new().with("kmip", doc! { "endpoint": "localhost:5698" }),
    )
    .kms_tls("kmip", setup.kms.tls());
    let client = Client::with_options(
        ClientOptions::parse(&setup.deployment.server.uri()).expect("a connection string"),
    );
    let encryption = ClientEncryption::new(&client.expect("a client"), options).expect("options");
    let key = with(kmip(), "endpoint", &format!("localhost:{port}"));
    let error = create(encryption, "kmip", &key).await.expect_err("no service");
    assert!(error.is_network(), "{error:?}");
}
