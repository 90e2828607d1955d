//! Random connection strings are parsed or rejected without a panic, and no secret is displayed.

use proptest::prelude::*;

use crate::{options::ClientOptions, proto::wire::tests::config};

const SECRET: &str = "s3cr3t";

/// Asserts that no text shown to users contains the secret.
fn check(uri: &str) {
    let shown = match ClientOptions::parse(uri) {
        Ok(options) => format!("{options:?} {:?} {}", options.warnings(), refusal(&options)),
        Err(error) => format!("{error} {error:#} {error:?}"),
    };
    assert!(!shown.to_lowercase().contains(SECRET), "{uri} shows {shown}");
}

/// The error of a client created with the options.
fn refusal(options: &ClientOptions) -> String {
    match options.check_supported() {
        Ok(()) => String::new(),
        Err(error) => format!("{error:#} {error:?}"),
    }
}

/// As [`check`], without the `Debug` output of the options, which contains the user name.
fn check_texts(uri: &str) {
    let shown = match ClientOptions::parse(uri) {
        Ok(options) => format!("{:?} {}", options.warnings(), refusal(&options)),
        Err(error) => format!("{error} {error:#} {error:?}"),
    };
    assert!(!shown.to_lowercase().contains(SECRET), "{uri} shows {shown}");
}

/// Characters with and without a meaning in a connection string.
const PIECES: &str = "[a-c1-3:/?#@%&=,;.$ é\\[\\]+_-]{0,6}";

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_string_is_parsed_or_rejected(text in any::<String>()) {
        let _ = ClientOptions::parse(&text);
        let _ = ClientOptions::parse(&format!("mongodb://{text}"));
        let _ = ClientOptions::parse(&format!("mongodb+srv://{text}"));
        let _ = ClientOptions::parse(&format!("mongodb://h/?{text}"));
    }

    #[test]
    fn any_sequence_of_parts_is_parsed_or_rejected(
        parts in prop::collection::vec(
            prop_oneof![
                Just("mongodb://"), Just("@"), Just(":"), Just("/"), Just("?"), Just("&"), Just("="), Just(","), Just("%"),
                Just("%2F"), Just("[::1]"), Just("host"), Just("27017"), Just("99999"), Just("tls"), Just("true"),
                Just("readPreferenceTags"), Just("dc:ny"), Just("maxPoolSize"), Just("-1"), Just("replicaSet"),
                Just("authMechanismProperties"), Just("A:B"), Just("compressors"), Just("zlib"), Just("w"),
            ],
            0..12,
        ),
    ) {
        let _ = ClientOptions::parse(&parts.concat());
        let _ = ClientOptions::parse(&format!("mongodb://{}", parts.concat()));
    }

    #[test]
    fn a_password_is_not_shown_in_any_position(
        user in PIECES,
        before in PIECES,
        after in PIECES,
        rest in PIECES,
    ) {
        // With these characters before a `?`, the string is valid and the secret is a host or a
        // database.
        prop_assume!(!after.contains('?') || !format!("{user}{before}").contains(['@', '/', ',']));
        check(&format!("mongodb://u{user}:{before}{SECRET}{after}@h{rest}"));
        check(&format!("mongodb://u:{before}{SECRET}{after}@h:1/db?w=1&{rest}"));
        check(&format!("mongodb+srv://u:{before}{SECRET}{after}@h.example.com/{rest}"));
    }

    #[test]
    fn a_password_without_host_is_not_shown(
        user in "[a-c1-3$ é\\[\\]+_-]{1,6}",
        // With `/`, `?` or `,` the string may be valid, with the secret as a database or an option.
        before in "[a-c1-3:#%&=;.$ é\\[\\]+_-]{0,6}",
        after in "[a-c1-3:/?#%&=,;.$ é\\[\\]+_-]{0,6}",
    ) {
        check(&format!("mongodb://{user}:{before}{SECRET}{after}"));
        check(&format!("mongodb://{user}:{before}{SECRET}{after}/db?w=1"));
        check(&format!("mongodb+srv://{user}:{before}{SECRET}{after}/?tls=true"));
    }

    #[test]
    fn a_user_name_is_never_part_of_an_error_or_a_warning(before in PIECES, after in PIECES, rest in PIECES) {
        check_texts(&format!("mongodb://{before}{SECRET}{after}@h/{rest}"));
        check_texts(&format!("mongodb://{before}{SECRET}{after}:p@h:1/db?w=1&{rest}"));
        check_texts(&format!("mongodb+srv://{before}{SECRET}{after}:p@h.example.com/?{rest}"));
    }

    #[test]
    fn secrets_in_options_are_not_shown(
        first in prop_oneof![Just(""), Just("w=1&"), Just("x=1;"), Just("appName=a&")],
        option in prop_oneof![
            Just("tlsCertificateKeyFilePassword="),
            Just("tls=true&tlsCertificateKeyFile=f&tlsCertificateKeyFilePassword="),
            Just("proxyPassword="),
            Just("proxyHost=p&proxyPassword="),
            Just("proxyHost=p&proxyUsername=u&proxyPassword="),
            Just("authMechanismProperties=AWS_SESSION_TOKEN:"),
            Just("authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:"),
            Just("authMechanism=MONGODB-X509&authMechanismProperties=AWS_SESSION_TOKEN:"),
            Just("authMechanismProperties=SERVICE_NAME:a,AWS_SESSION_TOKEN:"),
        ],
        user in prop_oneof![Just(""), Just("u:p@")],
        before in "[a-c:%@/=&;?#,]{0,4}",
        after in "[a-c:%@/=&;?#,]{0,4}",
        rest in prop_oneof![Just(""), Just("&w=1"), Just(";x=1"), Just("&nothing")],
    ) {
        check(&format!("mongodb://{user}h/?{first}{option}{before}{SECRET}{after}{rest}"));
        // Twice, so that a part of the secret may be an option that is given more than once.
        check(&format!("mongodb://{user}h/?{first}{option}{before}{SECRET}{after}&{before}{SECRET}{after}{rest}"));
    }
}
