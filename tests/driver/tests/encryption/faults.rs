//! Services, values, mongocryptd and libraries that fail: each failure is a typed error, and nothing is sent.

use std::process::{Command, Stdio};

use marula_driver::{
    Client, EncryptionError, Error, ErrorKind,
    bson::{Binary, BinarySubtype, Bson, Document, Uuid, doc, to_vec},
    encryption::{ClientEncryption, ClientEncryptionOptions, EncryptionAlgorithm, KmsProviders},
};
use marula_driver_tests::{
    Answer, Proxy, Request, ScriptedServer,
    kms::{KmsDouble, Tamper},
    proxy::{Action, Place},
    tls::Files,
};

use super::{
    automatic::{Automatic, patients, take},
    lies::ATTEMPTS,
    queryable::Queryable,
    support::{LOCAL_KEY, NAMESPACE, Setup, master_key, providers},
};

fn assert_encryption(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
}

/// After the status line, within and after the header, and within the body. libmongocrypt does not repeat requests of KMIP.
pub(crate) async fn answers_of_services_that_are_cut_are_repeated() {
    let setup = Setup::new().await;
    let create = async |provider: &'static str, tampers: Vec<Tamper>| {
        let kms = KmsDouble::start().await;
        kms.tamper(tampers);
        let options = kms.configure(ClientEncryptionOptions::new(NAMESPACE, providers()));
        let encryption = setup.encryption_with(options);
        let key = master_key(provider).expect("a master key");
        let key = encryption.create_data_key(provider).master_key(key).await?;
        let value = encryption
            .encrypt("text", key, EncryptionAlgorithm::Random)
            .await?;
        encryption.decrypt(&value).await
    };
    let cuts = [0, 1, 8, 20, 70, 100, usize::MAX];
    let results = cuts.map(async |cut| (cut, create("aws", vec![Tamper::Cut(cut)]).await));
    for (cut, result) in futures_util::future::join_all(results).await {
        let value = result.unwrap_or_else(|error| panic!("{cut}: {error:#}"));
        assert_eq!(value, Bson::from("text"));
    }
    let cuts = cuts.map(|cut| ("kmip", vec![Tamper::Cut(cut)]));
    let cases = cuts.into_iter().chain([("aws", vec![Tamper::Cut(8); ATTEMPTS])]);
    let results = cases.map(async |(provider, tampers)| create(provider, tampers).await);
    for result in futures_util::future::join_all(results).await {
        let error = result.expect_err("no answer");
        let ErrorKind::Encryption(EncryptionError::KmsConnection { .. }) = error.kind() else {
            panic!("{error:?}");
        };
        assert!(error.is_network(), "{error:?}");
    }
}

/// Every byte is authenticated, or part of the identifier of the key.
pub(crate) async fn altered_and_truncated_values_are_errors() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let key = encryption.create_data_key("local").await.expect("a key");
    for algorithm in [
        EncryptionAlgorithm::Deterministic,
        EncryptionAlgorithm::Random,
        EncryptionAlgorithm::Unindexed,
    ] {
        let value = encryption.encrypt("text", key, algorithm).await.expect("a value");
        assert_eq!(
            encryption.decrypt(&value).await.expect("a value"),
            Bson::from("text")
        );
        for (position, mask) in (0..value.bytes.len()).flat_map(|position| [(position, 1), (position, 0x80)])
        {
            let mut altered = value.clone();
            altered.bytes[position] ^= mask;
            let result = encryption.decrypt(&altered).await;
            assert_encryption(&result.expect_err("an altered value"));
        }
        for length in 0..value.bytes.len() {
            let mut truncated = value.clone();
            truncated.bytes.truncate(length);
            let result = encryption.decrypt(&truncated).await;
            assert_encryption(&result.expect_err("a truncated value"));
        }
        let mut longer = value.clone();
        longer.bytes.extend([0; 16]);
        assert_encryption(&encryption.decrypt(&longer).await.expect_err("a longer value"));
    }
}

/// The type and the metadata of the server in a stored value are not authenticated: another value is never returned as text.
pub(crate) async fn altered_values_with_an_index_are_not_confused() {
    let queryable = Queryable::new("7.0.0").await;
    let equality = doc! { "queryType": "equality", "contention": 0_i64 };
    let fields = vec![queryable.field("name", "string", Some(equality.into()))];
    let client = queryable.automatic();
    let people = queryable.collection(&client, "people", fields).await;
    people
        .insert_one(&doc! { "_id": 1, "name": "Ada" })
        .await
        .expect("an insert");
    let plain = queryable
        .setup
        .client()
        .database("db")
        .collection::<Document>("people");
    let stored = plain
        .find_one(doc! {})
        .await
        .expect("a find")
        .expect("a document");
    let Some(Bson::Binary(value)) = stored.get("name").cloned() else {
        panic!("{stored}");
    };
    assert_eq!(value.bytes[0], 14);
    let encryption: &ClientEncryption = &queryable.encryption;
    let mut errors = 0;
    for (position, mask) in (0..value.bytes.len()).flat_map(|position| [(position, 1), (position, 0x80)]) {
        let mut altered = value.clone();
        altered.bytes[position] ^= mask;
        match encryption.decrypt(&altered).await {
            Ok(Bson::String(text)) => assert_eq!(text, "Ada", "{position}"),
            Ok(_) => assert_eq!(position, 17, "the type"),
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::Encryption(_) | ErrorKind::Decode(_)),
                    "{error:?}"
                );
                errors += 1;
            }
        }
    }
    assert!(errors > 100, "{errors}");
    for length in 0..value.bytes.len() {
        let mut truncated = value.clone();
        truncated.bytes.truncate(length);
        let result = encryption.decrypt(&truncated).await;
        assert_encryption(&result.expect_err("a truncated value"));
    }
}

fn encrypted(bytes: Vec<u8>) -> Binary {
    Binary {
        subtype: BinarySubtype::Encrypted,
        bytes,
    }
}

/// Replies of mongocryptd to an insert. None of them may lead to an insert of the plain value.
pub(crate) async fn malformed_markings_are_errors() {
    let automatic = Automatic::new().await;
    let placeholder = |document: Document| [vec![0], to_vec(&document).expect("a document")].concat();
    let with_value = |value: Bson| {
        doc! {
            "ok": 1, "hasEncryptionPlaceholders": true, "schemaRequiresEncryption": true,
            "result": { "insert": "patients", "documents": [{ "ssn": value }] },
        }
    };
    let marked = |bytes: Vec<u8>| with_value(encrypted(bytes).into());
    let replies = [
        doc! { "ok": 0, "code": 51_088, "errmsg": "the schema is invalid" },
        doc! { "ok": "yes" },
        doc! {},
        doc! { "ok": 1, "schemaRequiresEncryption": true, "hasEncryptionPlaceholders": true },
        doc! { "ok": 1, "schemaRequiresEncryption": true, "result": "insert" },
        doc! { "ok": 1, "schemaRequiresEncryption": 7, "hasEncryptionPlaceholders": "yes" },
        marked(vec![0]),
        marked(vec![0, 1, 2, 3]),
        marked(vec![3, 1, 2, 3]),
        marked(placeholder(doc! {})),
        marked(placeholder(doc! { "a": 1 })),
        marked(placeholder(doc! { "a": 9, "ki": automatic.key, "v": "x" })),
        marked(placeholder(doc! { "a": 1, "ki": "a text", "v": "x" })),
        marked(placeholder(
            doc! { "a": 1, "ki": Uuid::from_bytes([7; 16]), "v": "x" },
        )),
        marked(placeholder(doc! { "a": 1, "ka": "no such key", "v": "x" })),
        marked(
            [
                placeholder(doc! { "a": 1, "ki": automatic.key, "v": "x" }),
                vec![7],
            ]
            .concat(),
        ),
    ];
    for reply in replies {
        let answer = reply.clone();
        let mongocryptd = ScriptedServer::start(doc! { "iscryptd": true }, move |request: &Request| {
            if request.is_hello() {
                Answer::Success
            } else {
                Answer::Reply(answer.clone())
            }
        })
        .await;
        let options = automatic
            .encryption()
            .extra_options(doc! { "mongocryptdURI": mongocryptd.uri(""), "mongocryptdBypassSpawn": true });
        let (client, sent) = automatic.client_with("", options);
        let result = patients(&client).insert_one(&doc! { "ssn": "457-55-5462" }).await;
        let Err(error) = result else {
            panic!("{reply}");
        };
        assert_encryption(&error);
        assert!(!format!("{error:#} {error:?}").contains("457-55"), "{error:?}");
        let sent = take(&sent);
        assert!(sent.iter().all(|(name, _)| name != "insert"), "{reply}: {sent:?}");
    }
    let count = automatic.stored().count_documents(doc! {}).await;
    assert_eq!(count.expect("a count"), 0);
}

pub(crate) async fn a_mongocryptd_that_fails_within_a_reply_is_an_error() {
    let automatic = Automatic::new().await;
    let analysis = automatic.analysis.uri();
    let target = analysis
        .trim_start_matches("mongodb://")
        .parse()
        .expect("an address");
    let start = async || {
        let proxy = Proxy::start(target).await;
        let options = automatic
            .encryption()
            .extra_options(doc! { "mongocryptdURI": proxy.uri(""), "mongocryptdBypassSpawn": true });
        let (client, sent) = automatic.client_with("", options);
        (proxy, client, sent)
    };
    let insert = async |client: &Client, id: i32| {
        let document = doc! { "_id": id, "ssn": "457-55-5462" };
        patients(client).insert_one(&document).await
    };
    let (proxy, client, _sent) = start().await;
    insert(&client, 0).await.expect("an insert");
    let length = proxy.length_of_reply("insert");
    assert!(length > 100, "{length}");
    let mut actions: Vec<Action> = [0, 1, 4, 15, 16, 20, 21, 25, 60, length / 2, length - 1]
        .map(Action::CutAfter)
        .into();
    let corrupt = |at, mask| Action::Corrupt { at, mask };
    actions.extend([
        Action::DropRequest,
        Action::CutRequestAfter(30),
        Action::Reset,
        // The length of the message, the number of the request, the operation, the kind of the section, and the document.
        corrupt(Place::FromStart(3), 0x40),
        corrupt(Place::FromStart(8), 0xff),
        corrupt(Place::FromStart(12), 0xff),
        corrupt(Place::FromStart(20), 0xff),
        corrupt(Place::FromStart(24), 0xff),
        corrupt(Place::Last, 0xff),
    ]);
    let fail = async |(id, action): (usize, Action)| {
        let id = i32::try_from(id).expect("a small number") + 1;
        let (proxy, client, sent) = start().await;
        let acting = action.clone();
        proxy.set_rule(move |exchange| {
            if exchange.is_hello() {
                Action::Pass
            } else {
                acting.clone()
            }
        });
        let error = insert(&client, id).await.expect_err("a failing mongocryptd");
        let ErrorKind::Encryption(EncryptionError::QueryAnalysis { .. }) = error.kind() else {
            panic!("{action:?}: {error:?}");
        };
        assert!(!format!("{error:#} {error:?}").contains("457-55"), "{error:?}");
        let sent = take(&sent);
        assert!(
            sent.iter().all(|(name, _)| name != "insert"),
            "{action:?}: {sent:?}"
        );
        proxy.pass_everything();
        insert(&client, id).await.expect("an insert");
    };
    futures_util::future::join_all(actions.into_iter().enumerate().map(fail)).await;
}

/// Compiles a library with one function, which reports this version.
fn library_of(files: &Files, version: &str) -> String {
    let source = format!(
        "#[no_mangle] pub extern \"C\" fn mongocrypt_version(_: *mut u32) -> *const std::ffi::c_char {{ c\"{version}\".as_ptr() }}"
    );
    let source = files.write(&format!("{}.rs", version.len()), &source);
    let library = source.replace(".rs", ".library");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(compiler)
        .args([
            "--edition=2021",
            "--crate-name=fake",
            "--crate-type=cdylib",
            "-o",
            &library,
            &source,
        ])
        .stderr(Stdio::inherit())
        .status()
        .expect("the compiler");
    assert!(compiled.success());
    library
}

pub(crate) async fn unusable_libraries_are_errors() {
    let files = Files::new();
    let client = Client::connect("mongodb://127.0.0.1:1").await.expect("a client");
    for (path, parts) in [
        (library_of(&files, "1.7.2"), ["libmongocrypt 1.7.2", "too old"]),
        (library_of(&files, "unknown"), ["unknown", "cannot be compared"]),
        (
            library_of(&files, "10.20.30"),
            ["libmongocrypt 10.20.30", "newer than 1"],
        ),
        (
            library_of(&files, "1.20.5"),
            ["does not have the function", "incomplete"],
        ),
        (files.write("text.so", "no library"), ["text.so", "not found"]),
        (files.write("empty.so", ""), ["empty.so", "not found"]),
    ] {
        let options = ClientEncryptionOptions::new(NAMESPACE, KmsProviders::new().local(&LOCAL_KEY));
        let result = ClientEncryption::new(&client, options.library_path(&path));
        let error = result.expect_err("an unusable library");
        let ErrorKind::Encryption(EncryptionError::Library(text)) = error.kind() else {
            panic!("{path}: {error:?}");
        };
        for part in parts.into_iter().chain(["Install libmongocrypt 1.20.0 or later"]) {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
