//! Tests of the rules for credentials.

use super::*;
use crate::{
    ErrorKind,
    options::{OidcCallback, OidcCredential},
};

fn resolved(uri: &str) -> std::result::Result<Credential, String> {
    let options = ClientOptions::parse(uri).map_err(|error| error.to_string())?;
    match options.resolved_credential() {
        Ok(credential) => credential.ok_or("no credential".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn the_source_follows_the_mechanism() {
    for (uri, source) in [
        ("mongodb://u:p@h", "admin"),
        ("mongodb://u:p@h/db", "db"),
        ("mongodb://u:p@h/db?authSource=x", "x"),
        ("mongodb://u:p@h/?authMechanism=PLAIN", "$external"),
        ("mongodb://u:p@h/db?authMechanism=PLAIN", "db"),
        ("mongodb://u@h/db?authMechanism=GSSAPI", "$external"),
        ("mongodb://h/db?authMechanism=MONGODB-X509", "$external"),
    ] {
        assert_eq!(resolved(uri).unwrap().source.as_deref(), Some(source), "{uri}");
    }
}

#[test]
fn credentials_that_do_not_fit_the_mechanism_are_rejected() {
    for (uri, why) in [
        ("mongodb://u@h", "needs a password"),
        (
            "mongodb://h/?authMechanism=SCRAM-SHA-256",
            "SCRAM-SHA-256 needs a user name",
        ),
        ("mongodb://u@h/?authMechanism=GSSAPI&authSource=x", "$external"),
        ("mongodb://u%00v:p@h/?authMechanism=PLAIN", "the character NUL"),
        ("mongodb://u:p%00q@h/?authMechanism=PLAIN", "the character NUL"),
        (
            "mongodb://u:p@h/?authMechanism=MONGODB-X509",
            "must not have a password",
        ),
        (
            "mongodb://u@h/?authMechanism=MONGODB-AWS",
            "must not have a user name",
        ),
        (
            "mongodb://u:p@h/?authMechanismProperties=SERVICE_NAME:x",
            "no property SERVICE_NAME",
        ),
        (
            "mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties=CANONICALIZE_HOST_NAME:maybe",
            "CANONICALIZE_HOST_NAME must be",
        ),
        (
            "mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties=service_name:x,SERVICE_NAME:y",
            "given twice",
        ),
        (
            "mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME:",
            "SERVICE_NAME must be",
        ),
        (
            "mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_HOST:,SERVICE_REALM:R",
            "SERVICE_HOST must be",
        ),
        (
            "mongodb://h/?authMechanism=MONGODB-OIDC",
            "ENVIRONMENT or a callback",
        ),
        (
            "mongodb://h/?authMechanism=MONGODB-OIDC&authMechanismProperties=ALLOWED_HOSTS:%5B%22h%22%5D",
            "no property ALLOWED_HOSTS",
        ),
        (
            "mongodb://h/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:gcp",
            "TOKEN_RESOURCE",
        ),
        (
            "mongodb://h/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s,TOKEN_RESOURCE:x",
            "azure and gcp only",
        ),
        (
            "mongodb://u@h/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s",
            "with a callback and in the environment azure",
        ),
    ] {
        let error = resolved(uri).unwrap_err();
        assert!(error.contains(why), "{uri}: {error}");
    }
}

#[test]
fn an_unsupported_mechanism_is_reported_before_other_errors_of_the_credential() {
    for (uri, feature, is_enabled) in [
        (
            "mongodb://h/?authMechanism=GSSAPI",
            "`gssapi`",
            cfg!(feature = "gssapi"),
        ),
        (
            "mongodb://u:p@h/?authMechanism=MONGODB-AWS",
            "`aws-auth`",
            cfg!(feature = "aws-auth"),
        ),
    ] {
        let error = ClientOptions::parse(uri).unwrap().identity().unwrap_err();
        let is_unsupported = matches!(error.kind(), ErrorKind::Unsupported(_));
        assert_eq!(is_unsupported, !is_enabled, "{error}");
        assert_eq!(error.to_string().contains(feature), !is_enabled, "{error}");
    }
}

fn callback() -> OidcCallback {
    OidcCallback::new(|_| async { Ok(OidcCredential::new("token")) })
}

/// The error of a credential that is changed after it was parsed, if any.
fn error_of(uri: &str, change: impl Fn(Credential) -> Credential) -> Option<String> {
    let mut options = ClientOptions::parse(uri).unwrap();
    options.credential = Some(change(options.credential.take().unwrap_or_default()));
    let error = options.resolved_credential().err();
    error.map(|error| error.to_string())
}

#[test]
fn oidc_takes_one_source_of_tokens() {
    const OIDC: &str = "mongodb://h/?authMechanism=MONGODB-OIDC";
    let test = &format!("{OIDC}&authMechanismProperties=ENVIRONMENT:test");
    let azure = &format!("{OIDC}&authMechanismProperties=ENVIRONMENT:azure,TOKEN_RESOURCE:r");
    let resource = &format!("{OIDC}&authMechanismProperties=TOKEN_RESOURCE:r");
    let machine = |credential: Credential| credential.with_oidc_callback(callback());
    let human = |credential: Credential| credential.with_oidc_human_callback(callback());
    let hosts = |mut credential: Credential| {
        credential.allowed_hosts = Some(Vec::new());
        credential
    };
    assert_eq!(error_of(OIDC, machine), None);
    assert_eq!(error_of("mongodb://h", machine), None);
    assert_eq!(
        error_of("mongodb://h", |credential| hosts(human(credential))),
        None
    );
    assert_eq!(error_of("mongodb://u@h/?authMechanism=MONGODB-OIDC", human), None);
    for (error, why) in [
        (error_of(test, machine), "not both"),
        (error_of(test, human), "not both"),
        (
            error_of(OIDC, |credential| human(machine(credential))),
            "not both",
        ),
        (error_of(azure, hosts), "needs the human callback"),
        (
            error_of(OIDC, |credential| hosts(machine(credential))),
            "needs the human callback",
        ),
        (error_of(resource, machine), "azure and gcp only"),
        (
            error_of("mongodb://u:p@h/?authMechanism=SCRAM-SHA-256", machine),
            "needs authMechanism=MONGODB-OIDC",
        ),
        (
            error_of("mongodb://u:p@h", hosts),
            "needs authMechanism=MONGODB-OIDC",
        ),
        (
            error_of("mongodb://u:p@h/?authMechanism=MONGODB-OIDC", machine),
            "must not have a password",
        ),
    ] {
        let error = error.unwrap();
        assert!(error.contains(why), "{error}");
    }
}

#[cfg(feature = "aws-auth")]
#[test]
fn a_provider_of_aws_credentials_needs_its_mechanism() {
    let given = |credential: Credential| {
        credential.with_aws_credential_provider(crate::options::AwsCredentialProvider::new(|| async {
            Err("none".into())
        }))
    };
    assert_eq!(error_of("mongodb://h/?authMechanism=MONGODB-AWS", given), None);
    let error = error_of("mongodb://u:p@h/?authMechanism=PLAIN", given).unwrap();
    assert!(error.contains("needs authMechanism=MONGODB-AWS"), "{error}");
}

#[test]
fn the_old_name_of_the_service_name_is_a_deprecated_alias() {
    for (options, expected) in [
        ("gssapiServiceName=old", "old"),
        (
            "gssapiServiceName=old&authMechanismProperties=SERVICE_REALM:R",
            "old",
        ),
        (
            "authMechanismProperties=service_name:new&gssapiServiceName=old",
            "new",
        ),
    ] {
        let uri = format!("mongodb://u@h/?authMechanism=GSSAPI&{options}");
        assert_eq!(
            resolved(&uri).unwrap().mechanism_properties["SERVICE_NAME"],
            expected
        );
        let warnings = ClientOptions::parse(&uri).unwrap().warnings().join(" ");
        assert!(warnings.contains("SERVICE_NAME"), "{warnings}");
    }
    let other = resolved("mongodb://u:p@h/?gssapiServiceName=old").unwrap();
    assert!(other.mechanism_properties.is_empty());
}

#[test]
fn names_of_properties_are_case_insensitive() {
    let uri = "mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties=service_realm:R";
    let properties = resolved(uri).unwrap().mechanism_properties;
    assert_eq!(properties["SERVICE_REALM"], "R");
    assert_eq!(properties["SERVICE_NAME"], "mongodb");
}

#[test]
fn the_source_of_the_connection_string_is_for_a_credential_of_the_application() {
    let mut options = ClientOptions::parse("mongodb://h/other?authSource=app").unwrap();
    let mut credential = Credential::default().with_password("x");
    credential.username = Some("ada".to_owned());
    options.credential = Some(credential);
    let source = |options: &ClientOptions| options.resolved_credential().unwrap().unwrap().source;
    assert_eq!(source(&options).as_deref(), Some("app"));
    options.credential.as_mut().unwrap().source = Some("own".to_owned());
    assert_eq!(source(&options).as_deref(), Some("own"));
}

/// The connection string is valid, with a warning, and no client is created.
#[test]
fn malformed_properties_are_warnings_of_the_string_and_errors_of_the_client() {
    for (properties, why) in [
        ("ENVIRONMENT", "property 1 has no colon"),
        (
            "ENVIRONMENT:azure,TOKEN_RESOURCE:a%2Cb",
            "property 3 has no colon",
        ),
        ("ENVIRONMENT:azure,,", "property 2 is empty"),
        (",", "property 1 is empty"),
        (",ENVIRONMENT:azure", "property 1 is empty"),
        ("ENVIRONMENT:k8s,%20:x", "property 2 has no name"),
        (":k8s", "property 1 has no name"),
        ("ENVIRONMENT:k8s,ENVIRONMENT:gcp", "property 2 is given twice"),
        (
            "ENVIRONMENT:azure,TOKEN_RESOURCE:x,environment:k8s",
            "property 3 is given twice",
        ),
    ] {
        for mechanism in ["MONGODB-OIDC", "GSSAPI&gssapiServiceName=s"] {
            let uri = format!("mongodb://h/?authMechanism={mechanism}&authMechanismProperties={properties}");
            let options = ClientOptions::parse(&uri).unwrap();
            let warnings = options.warnings().join(" ");
            assert!(
                warnings.contains("authMechanismProperties is ignored") && warnings.contains(why),
                "{uri}: {warnings}"
            );
            let credential = options.credential.as_ref().unwrap();
            assert!(credential.mechanism_properties.is_empty(), "{uri}");
            let error = options.resolved_credential().unwrap_err().to_string();
            assert!(error.contains(why), "{uri}: {error}");
        }
    }
    // What the application sets is used instead: properties, a callback, another mechanism, or a credential.
    let uri = "mongodb://h/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT";
    let set = |mut credential: Credential| {
        let properties = &mut credential.mechanism_properties;
        properties.insert("ENVIRONMENT".to_owned(), "k8s".to_owned());
        credential
    };
    assert_eq!(error_of(uri, set), None);
    assert_eq!(error_of(uri, |given| given.with_oidc_callback(callback())), None);
    let set = |mut credential: Credential| {
        credential.mechanism = Some(AuthMechanism::MongoDbX509);
        credential
    };
    assert_eq!(error_of(uri, set), None);
    assert_eq!(
        error_of(uri, |_| Credential::default().with_oidc_callback(callback())),
        None
    );
}

/// "Any invalid Values for a given key MUST be ignored and MUST log a WARN": the connections are the same without them.
#[test]
fn malformed_properties_of_mechanisms_without_properties_are_warnings() {
    for uri in [
        "mongodb://u:p@h/?authMechanismProperties=x",
        "mongodb://u:p@h/?authMechanism=SCRAM-SHA-256&authMechanismProperties=:x",
        "mongodb://u:p@h/?authMechanism=PLAIN&authMechanismProperties=,a:b",
        "mongodb://h/?authMechanism=MONGODB-X509&authMechanismProperties=a:b,a:c",
        "mongodb://h/?authMechanismProperties=x",
    ] {
        let options = ClientOptions::parse(uri).unwrap();
        let warnings = options.warnings().join(" ");
        assert!(
            warnings.contains("authMechanismProperties is ignored"),
            "{uri}: {warnings}"
        );
        let identity = options.identity().map(|identity| identity.is_some());
        assert_eq!(
            identity.unwrap(),
            uri != "mongodb://h/?authMechanismProperties=x",
            "{uri}"
        );
    }
}

#[test]
fn a_comma_at_the_end_and_a_repeated_pair_are_warnings() {
    for (properties, why) in [
        ("SERVICE_NAME:x,", "property 2 is empty"),
        ("SERVICE_NAME:x,%20", "property 2 is empty"),
        ("SERVICE_NAME:x,SERVICE_NAME:x", "property 2 is given twice"),
        ("SERVICE_NAME:x,service_name:x,", "property 2 is given twice"),
    ] {
        let uri = format!("mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties={properties}");
        let warnings = ClientOptions::parse(&uri).unwrap().warnings().join(" ");
        assert!(
            warnings.contains("authMechanismProperties: ") && warnings.contains(why),
            "{uri}: {warnings}"
        );
        let credential = resolved(&uri).unwrap();
        assert_eq!(credential.mechanism_properties["SERVICE_NAME"], "x", "{uri}");
    }
}

#[test]
fn properties_that_a_mechanism_does_not_have_are_errors() {
    const OIDC: &str = "MONGODB-OIDC&authMechanismProperties=";
    for (options, why) in [
        (
            "MONGODB-X509&authMechanismProperties=SERVICE_NAME:x",
            "no property SERVICE_NAME",
        ),
        (
            &format!("{OIDC}ENVIROMENT:k8s"),
            "no such property; it has ENVIRONMENT",
        ),
        (
            &format!("{OIDC}ENVIRONMENT:azure,%20TOKEN_RESOURCE:x"),
            "TOKEN_RESOURCE has blanks",
        ),
        (&format!("{OIDC}ENVIRONMENT%20:k8s"), "ENVIRONMENT has blanks"),
        (&format!("{OIDC}ENVIRONMENT:"), "ENVIRONMENT must be"),
        (
            &format!("{OIDC}ENVIRONMENT:k8s,TOKEN_RESOURCE:"),
            "azure and gcp only",
        ),
        (
            &format!("{OIDC}ENVIRONMENT:gcp,TOKEN_RESOURCE:"),
            "need the property TOKEN_RESOURCE",
        ),
    ] {
        let error = resolved(&format!("mongodb://h/?authMechanism={options}")).unwrap_err();
        assert!(error.contains(why), "{options}: {error}");
    }
    for value in ["True", "yes", "1", "", "forwardandreverse", "true%20"] {
        let uri = format!(
            "mongodb://u@h/?authMechanism=GSSAPI&authMechanismProperties=CANONICALIZE_HOST_NAME:{value}"
        );
        let error = resolved(&uri).unwrap_err();
        assert!(
            error.contains("CANONICALIZE_HOST_NAME must be none"),
            "{value}: {error}"
        );
    }
}

/// Only a user name or a mechanism configures credentials (Authentication, "When a credential exists").
#[test]
fn properties_alone_are_no_credential_and_a_warning() {
    for (mechanism, exists) in [("", true), ("authMechanism=MONGODB-OICD&", false)] {
        let uri = format!("mongodb://h/?{mechanism}authMechanismProperties=ENVIRONMENT:k8s");
        let options = ClientOptions::parse(&uri).unwrap();
        assert!(
            options.check_supported().is_ok() == exists && options.credential.is_none(),
            "{uri}"
        );
        let warnings = options.warnings().join(" ");
        assert!(
            warnings.contains("authMechanismProperties has no effect"),
            "{uri}: {warnings}"
        );
    }
    let uri = "mongodb://h/?authMechanismProperties=ENVIRONMENT:k8s";
    let given = |credential: Credential| credential.with_oidc_callback(callback());
    assert_eq!(error_of(uri, given), None);
}
