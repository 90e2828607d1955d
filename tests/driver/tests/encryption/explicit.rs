//! Encryption and decryption of single values.

use marula_driver::{
    Client, EncryptionError, ErrorKind,
    bson::{Binary, BinarySubtype, Bson, DateTime, Uuid, doc},
    encryption::{
        AutoEncryptionOptions, AwsCredentials, ClientEncryption, ClientEncryptionOptions,
        EncryptionAlgorithm, KmsProviders, RangeOptions, StringOptions, StringQueryLength,
        SubstringQueryLength,
    },
};

use super::support::{LOCAL_KEY, NAMESPACE, Setup, master_key, providers};

async fn key_of(encryption: &ClientEncryption, provider: &str) -> Uuid {
    let mut create = encryption.create_data_key(provider);
    if let Some(key) = master_key(provider) {
        create = create.master_key(key);
    }
    create
        .await
        .unwrap_or_else(|error| panic!("{provider}: {error:#}"))
}

pub(crate) async fn every_provider_encrypts_and_decrypts() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    for provider in ["local", "local:second", "aws", "azure", "gcp", "kmip"] {
        let key = key_of(&encryption, provider).await;
        // Another object has no keys in its cache, so the service decrypts them.
        for encryption in [&encryption, &setup.encryption()] {
            let value = encryption
                .encrypt("457-55-5462", key, EncryptionAlgorithm::Deterministic)
                .await
                .expect(provider);
            assert_eq!(value.subtype, BinarySubtype::Encrypted);
            let text: String = setup
                .encryption()
                .decrypt(&value)
                .with_type()
                .await
                .expect(provider);
            assert_eq!(text, "457-55-5462");
        }
    }
    let hosts: Vec<String> = setup
        .kms
        .requests()
        .into_iter()
        .map(|request| request.host)
        .collect();
    for host in [
        "kms.us-east-1.amazonaws.com",
        "example.vault.azure.net",
        "cloudkms.googleapis.com",
        "kmip",
    ] {
        assert!(hosts.iter().any(|other| other == host), "{host}: {hosts:?}");
    }
}

pub(crate) async fn values_of_all_types_are_decrypted() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let key = key_of(&encryption, "local").await;
    let values = [
        Bson::Double(1.5),
        Bson::String("text".repeat(20_000)),
        Bson::Document(doc! { "a": [1, { "b": Bson::Null }] }),
        Bson::Array(vec![Bson::Int32(1), Bson::Boolean(true)]),
        Bson::Boolean(false),
        Bson::DateTime(DateTime::from_millis(1)),
        Bson::Int64(i64::MAX),
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1, 2, 3],
        }),
    ];
    for value in values {
        let encrypted = encryption
            .encrypt(&value, key, EncryptionAlgorithm::Random)
            .await
            .expect("a value");
        assert_eq!(encryption.decrypt(&encrypted).await.expect("a value"), value);
    }
}

pub(crate) async fn algorithms_of_queryable_encryption_make_payloads() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let key = key_of(&encryption, "local").await;
    let unindexed = encryption
        .encrypt("text", key, EncryptionAlgorithm::Unindexed)
        .await
        .expect("a value");
    assert_eq!(unindexed.bytes[0], 16);
    assert_eq!(
        encryption.decrypt(&unindexed).await.expect("a value"),
        Bson::from("text")
    );

    let length = StringQueryLength { min: 2, max: 10 };
    let part = SubstringQueryLength {
        max_length: 20,
        min: 2,
        max: 10,
    };
    let strings = || StringOptions::new(true, true);
    // The algorithm, the type of a query, and the first bytes of the payloads to store and to query.
    for (algorithm, query_type, query) in [
        (EncryptionAlgorithm::Indexed, "equality", 12),
        (
            EncryptionAlgorithm::String(strings().prefix(length)),
            "prefix",
            18,
        ),
        (
            EncryptionAlgorithm::String(strings().suffix(length)),
            "suffix",
            18,
        ),
        (
            EncryptionAlgorithm::String(strings().substring(part)),
            "substring",
            18,
        ),
    ] {
        let stored = encryption
            .encrypt("example", key, algorithm.clone())
            .contention_factor(0)
            .await
            .expect(query_type);
        assert_eq!(stored.bytes[0], 11, "{query_type}");
        let queried = encryption
            .encrypt("exam", key, algorithm.clone())
            .contention_factor(0)
            .query_type(query_type)
            .await
            .expect(query_type);
        assert_eq!(queried.bytes[0], query, "{query_type}");
        let error = encryption
            .encrypt("example", key, algorithm)
            .await
            .expect_err("no contention factor");
        assert!(
            error.to_string().contains("contention factor is required"),
            "{error}"
        );
    }
    // A large number of derivations: computed on a thread for blocking work.
    let range = RangeOptions::new(0.0, 1000.0)
        .precision(2)
        .trim_factor(1)
        .sparsity(1);
    let stored = encryption
        .encrypt(&6.25, key, EncryptionAlgorithm::Range(range))
        .contention_factor(4)
        .await
        .expect("a value");
    assert_eq!(stored.bytes[0], 11);
}

pub(crate) async fn expressions_are_encrypted() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let key = key_of(&encryption, "local").await;
    let range = RangeOptions::new(0, 200).trim_factor(1).sparsity(1);
    let expression = doc! { "$and": [{ "age": { "$gt": 6 } }, { "age": { "$lt": 200 } }] };
    let encrypted = encryption
        .encrypt_expression(expression, key, range)
        .contention_factor(0)
        .await
        .expect("an expression");
    let operands = encrypted.get_array("$and").expect("operands");
    for (operand, operator) in operands.iter().zip(["$gt", "$lt"]) {
        let value = operand
            .as_document()
            .and_then(|operand| operand.get_document("age").ok()?.get(operator));
        assert!(
            matches!(value, Some(Bson::Binary(value)) if value.bytes[0] == 13),
            "{operand}"
        );
    }
}

pub(crate) async fn errors_name_the_cause() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let rejected = |error: &marula_driver::Error, part: &str| {
        let ErrorKind::Encryption(EncryptionError::Rejected { message, .. }) = error.kind() else {
            panic!("{error:?}");
        };
        assert!(message.contains(part), "{part}: {message}");
    };
    let error = encryption
        .encrypt("x", "unknown name", EncryptionAlgorithm::Random)
        .await
        .expect_err("no key");
    rejected(&error, "not all keys requested were satisfied");
    let key = key_of(&encryption, "local").await;
    let error = encryption
        .encrypt(&1.5, key, EncryptionAlgorithm::Deterministic)
        .await
        .expect_err("a double");
    rejected(&error, "BSON type invalid for deterministic encryption");
    let mut value = encryption
        .encrypt("x", key, EncryptionAlgorithm::Random)
        .await
        .expect("a value");
    let last = value.bytes.last_mut().expect("bytes");
    *last ^= 1;
    rejected(&encryption.decrypt(&value).await.expect_err("damaged"), "HMAC");
    value.subtype = BinarySubtype::Generic;
    assert!(encryption.decrypt(&value).await.is_err());
    let create = |namespace: &str, providers| {
        ClientEncryption::new(setup.client(), ClientEncryptionOptions::new(namespace, providers))
    };
    let error = create("keys", providers()).expect_err("no database");
    assert!(error.to_string().contains("database.collection"), "{error}");
    let error = create(NAMESPACE, KmsProviders::new().with("magic", doc! { "a": 1 })).expect_err("unknown");
    rejected(&error, "magic");
    let error = create(NAMESPACE, KmsProviders::new()).expect_err("no provider");
    assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
}

pub(crate) async fn secrets_are_not_printed() {
    let setup = Setup::new().await;
    let options = setup.options(providers());
    let encryption = setup.encryption_with(options.clone());
    let secret = AwsCredentials::new("id", "aws-secret").with_session_token("session-secret");
    let material = [b'm'; 96];
    let texts = [
        format!("{options:?}"),
        format!("{encryption:?}"),
        format!("{secret:?}"),
        format!("{:?}", encryption.create_data_key("local").key_material(material)),
        format!(
            "{:?}",
            encryption.encrypt("value-secret", "name", EncryptionAlgorithm::Random)
        ),
        format!(
            "{:?}",
            encryption.encrypt_expression(
                doc! { "$and": [{ "age": { "$gt": "value-secret" } }, { "age": { "$lt": 109_109 } }] },
                "name",
                RangeOptions::new(109_109, "secret"),
            )
        ),
        format!(
            "{:?}",
            EncryptionAlgorithm::Range(RangeOptions::new("secret", 109_109))
        ),
        format!(
            "{:?}",
            AutoEncryptionOptions::new(NAMESPACE, providers())
                .extra_options(doc! { "mongocryptdURI": "mongodb://a:secret@b" })
        ),
    ];
    for text in texts {
        assert!(!text.contains("secret"), "{text}");
        assert!(!text.contains("109, 109") && !text.contains("109109"), "{text}");
        let [key, ..] = LOCAL_KEY;
        assert!(!text.contains(&format!("{key}, {key}, {key}")), "{text}");
        assert!(!text.contains(&format!("{key:02x}{key:02x}{key:02x}")), "{text}");
    }
}

pub(crate) async fn a_missing_library_is_an_error_that_says_how_to_get_it() {
    let client = Client::connect("mongodb://127.0.0.1:1").await.expect("a client");
    let options = ClientEncryptionOptions::new(NAMESPACE, KmsProviders::new().local(&LOCAL_KEY))
        .library_path("/nonexistent/libmongocrypt.so");
    let error = ClientEncryption::new(&client, options).expect_err("no library");
    assert!(
        matches!(error.kind(), ErrorKind::Encryption(EncryptionError::Library(_))),
        "{error:?}"
    );
    let text = error.to_string();
    for part in [
        "/nonexistent/libmongocrypt.so",
        "1.20.0",
        "MONGOCRYPT_LIB_PATH",
        "pymongocrypt",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
