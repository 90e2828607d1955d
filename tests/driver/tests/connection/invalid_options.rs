//! Invalid connection strings and options.

use marula_driver::{
    Client, ErrorKind, ServerAddress,
    bson::doc,
    options::{AuthMechanism, ClientOptions},
};

#[tokio::test]
async fn errors_of_malformed_connection_strings_name_the_invalid_part() {
    for (uri, part) in [
        ("localhost", "mongodb://"),
        ("mongodb://", "host"),
        ("mongodb://a:notaport", "port"),
        ("mongodb://a:70000", "port"),
        ("mongodb://a,,b", "comma"),
        ("mongodb://u:p@x@h", "percent-encoded"),
        ("mongodb://h/?maxPoolSize", "maxPoolSize"),
        ("mongodb://h/?tls=true&ssl=false", "tls"),
        ("mongodb://a,b/?directConnection=true", "directConnection"),
        ("mongodb://a\n,b", r"'\n'"),
        ("mongodb://a%0A,b", r"'\n'"),
        ("mongodb://a%20b", "' '"),
        ("mongodb://[fe80::1%25e th0]", "' '"),
        ("mongodb://a/d%0A", r"'\n'"),
        ("mongodb://a/?replicaSet=rs%0D%0A", "replicaSet"),
        ("mongodb://a/?authSource=%00", "authSource"),
        ("mongodb://a/?w=x%09", "w"),
        ("mongodb://a/?tlsCAFile=ca.pem%0A", "tlsCAFile"),
        ("mongodb://a/?x%0Ay=1", r"x\ny"),
    ] {
        let error = Client::connect(uri).await.expect_err(uri);
        assert!(
            matches!(error.kind(), ErrorKind::ConnectionString(_)),
            "{uri}: {error}"
        );
        assert!(
            error.to_string().contains(part),
            "{uri}: {error} does not name {part}"
        );
    }
}

/// Files with secrets mostly end with a line break. A password can contain any character.
#[tokio::test]
async fn blanks_around_a_connection_string_are_ignored_with_a_warning() {
    let options = ClientOptions::parse(" mongodb://u:p%0Aq@a/?replicaSet=rs \r\n").expect("valid options");
    assert_eq!(options.hosts[0].to_string(), "a:27017");
    assert_eq!(options.replica_set.as_deref(), Some("rs"));
    let [warning] = options.warnings() else {
        panic!("{:?}", options.warnings());
    };
    assert!(warning.contains("blanks or line breaks"), "{warning}");
}

#[tokio::test]
async fn names_with_control_characters_are_rejected_in_options_too() {
    let valid = || ClientOptions::parse("mongodb://a").expect("valid options");
    let with = |change: fn(&mut ClientOptions)| {
        let mut options = valid();
        change(&mut options);
        Client::with_options(options)
            .expect_err("a control character")
            .to_string()
    };
    let host = with(|options| options.hosts = vec![ServerAddress::tcp("a\n", 1)]);
    assert!(host.contains(r#""a\n""#), "{host}");
    let set = with(|options| options.replica_set = Some("rs\n".to_owned()));
    assert!(set.contains("replicaSet"), "{set}");
}

/// The specification demands a warning when the string is parsed, and a client would connect without authentication.
#[tokio::test]
async fn a_client_with_an_unknown_mechanism_is_not_created() {
    for uri in [
        "mongodb://a/?authMechanism=SCRAM-SHA-512",
        "mongodb://user:hunter2@a/?authMechanism=SCRAM-SHA-512",
    ] {
        let options = ClientOptions::parse(uri).expect("a warning only");
        assert!(options.warnings()[0].contains("authMechanism"));
        let error = Client::with_options(options).expect_err("an unknown mechanism");
        assert!(error.to_string().contains("authMechanism"), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn secrets_without_encryption_are_warned_of() {
    for (uri, warns) in [
        ("mongodb://u:p@db.example/?authMechanism=PLAIN", true),
        ("mongodb://u:p@db.example/?authMechanism=PLAIN&tls=false", true),
        (
            "mongodb://localhost,127.0.0.1,db.example/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s",
            true,
        ),
        (
            "mongodb://u:p@localhost,127.0.0.1:1,[::1]/?authMechanism=PLAIN",
            false,
        ),
        ("mongodb://u:p@db.example/?authMechanism=SCRAM-SHA-256", false),
    ] {
        let client = Client::connect(uri).await.expect(uri);
        let warned = client
            .warnings()
            .iter()
            .any(|warning| warning.contains("NOT encrypted"));
        assert_eq!(warned, warns, "{uri}: {:?}", client.warnings());
    }
}

#[tokio::test]
async fn unsupported_options_are_rejected_by_name() {
    for (uri, part) in [("mongodb://%2Ftmp%2Fmongodb.sock/?tls=true", "Unix domain socket")] {
        let error = Client::connect(uri).await.expect_err(uri);
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported(_)),
            "{uri}: {error}"
        );
        assert!(
            error.to_string().contains(part),
            "{uri}: {error} does not name {part}"
        );
    }
}

#[test]
fn secrets_do_not_appear_in_errors_or_debug_output() {
    let uri = "mongodb://alice:hunter2@h/?proxyHost=p&proxyUsername=q&proxyPassword=hunter2&tlsCertificateKeyFilePassword=hunter2";
    let options = ClientOptions::parse(uri).expect("valid options");
    assert!(!format!("{options:?}").contains("hunter2"));
    let error = ClientOptions::parse("mongodb://alice:hunter2:x@h").expect_err("a second colon");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[test]
fn a_connection_string_without_host_does_not_reveal_the_password() {
    let error = ClientOptions::parse("mongodb://bob:s3cret").expect_err("no host");
    let text = format!("{error} {error:?}");
    assert!(!text.contains("s3cret") && text.contains("'@'"), "{text}");
}

#[tokio::test]
async fn a_client_without_tls_warns_about_tls_options() {
    for (query, warned) in [
        ("tls=treu", true),
        ("tlsCertificateKeyFile=/x", true),
        ("tlsCAFile=/x&tlsAllowInvalidHostnames=true", true),
        ("tls=false&tlsCAFile=/x", false),
        ("retryReads=maybe", false),
    ] {
        let client = Client::connect(format!("mongodb://127.0.0.1:1/?{query}"))
            .await
            .expect(query);
        let warnings = client.warnings();
        assert_eq!(
            warnings.iter().any(|warning| warning.contains("NOT encrypted")),
            warned,
            "{query}: {warnings:?}"
        );
        client.shutdown().await;
    }
}

#[test]
fn a_client_needs_a_runtime() {
    let error = Client::with_options(ClientOptions::default()).expect_err("no runtime");
    assert!(error.to_string().contains("tokio runtime"), "{error}");
}

#[tokio::test]
async fn invalid_arguments_are_rejected_before_a_command_is_sent() {
    // Nothing listens on this port, so the errors come from the checks of the arguments.
    let client = Client::connect("mongodb://127.0.0.1:9").await.expect("a client");
    let things = client
        .database("d")
        .collection::<marula_driver::bson::Document>("c");
    let refused = |error: marula_driver::Error| {
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
        error.to_string()
    };
    assert!(
        refused(
            things
                .update_one(doc! {}, doc! { "a": 1 })
                .await
                .expect_err("no operator")
        )
        .contains("replace_one")
    );
    assert!(refused(things.update_one(doc! {}, doc! {}).await.expect_err("empty")).contains("operator"));
    assert!(
        refused(
            things
                .replace_one(doc! {}, &doc! { "$set": { "a": 1 } })
                .await
                .expect_err("operator")
        )
        .contains("$set")
    );
    assert!(refused(things.insert_many(&[]).await.expect_err("no documents")).contains("at least one"));
    assert!(refused(things.drop_index("*").await.expect_err("all")).contains("drop_indexes"));
    let key = things
        .find(doc! { "a\0b": 1 })
        .await
        .expect_err("a zero byte in a key");
    assert!(matches!(key.kind(), ErrorKind::Encode(_)), "{key}");
}

/// The specification requires that they are ignored with a warning, but the logins of a client without them would fail.
#[tokio::test]
async fn malformed_mechanism_properties_are_warnings_and_prevent_a_client() {
    for (query, part) in [
        (
            "authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT",
            "property 1 has no colon",
        ),
        (
            "authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s,,",
            "property 2 is empty",
        ),
        (
            "authMechanism=MONGODB-OIDC&authMechanismProperties=:k8s",
            "property 1 has no name",
        ),
        (
            "authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s,ENVIRONMENT:gcp",
            "property 2 is given twice",
        ),
    ] {
        let uri = format!("mongodb://h/?{query}");
        let options = ClientOptions::parse(&uri).expect("a valid connection string");
        assert!(
            options
                .warnings()
                .iter()
                .any(|warning| warning.contains("authMechanismProperties is ignored")),
            "{uri}: {:?}",
            options.warnings()
        );
        for error in [
            Client::with_options(options).expect_err(&uri),
            Client::connect(&uri).await.expect_err(&uri),
        ] {
            assert!(
                matches!(error.kind(), ErrorKind::InvalidArgument(_)),
                "{uri}: {error}"
            );
            assert!(error.to_string().contains(part), "{uri}: {error}");
        }
    }
}

/// Clients of mechanisms without properties work without them, and the meaning of a comma at the end or of a repeated
/// pair is known.
#[tokio::test]
async fn malformed_mechanism_properties_that_change_nothing_are_warnings() {
    for (uri, warning) in [
        (
            "mongodb://u:p@127.0.0.1:1/?authMechanismProperties=x",
            "authMechanismProperties is ignored",
        ),
        (
            "mongodb://127.0.0.1:1/?authMechanismProperties=x",
            "authMechanismProperties is ignored",
        ),
        // Only a user name or a mechanism configures credentials (Authentication, "When a credential exists").
        (
            "mongodb://127.0.0.1:1/?authMechanismProperties=ENVIRONMENT:k8s",
            "authMechanismProperties has no effect",
        ),
        (
            "mongodb://127.0.0.1:1/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s,ENVIRONMENT:k8s,",
            "property 3 is empty",
        ),
    ] {
        let options = ClientOptions::parse(uri).expect("a valid connection string");
        let warnings = options.warnings().join(" ");
        assert!(warnings.contains(warning), "{uri}: {warnings}");
        Client::with_options(options).expect(uri);
    }
    let uri = "mongodb://127.0.0.1:1/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT";
    let mut options = ClientOptions::parse(uri).expect("a valid connection string");
    options.tls.enabled = Some(true);
    let credential = options.credential.as_mut().expect("a credential");
    credential.mechanism = Some(AuthMechanism::MongoDbX509);
    Client::with_options(options).expect("the mechanism has no properties");
}
