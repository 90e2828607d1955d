//! The example conversations of the RFCs, and invalid messages.

use super::*;

const SERVER_FIRST_1: &str =
    "r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,s=rQ9ZY3MntBeuP3E1TDVC4w==,i=10000";
const SERVER_FIRST_256: &str =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

/// A conversation of the user `user` with the password `pencil` and this nonce in base64.
fn client(hash: ScramHash, nonce: &str) -> ClientFirst {
    named(hash, "user", "pencil", nonce)
}

fn named(hash: ScramHash, name: &str, password: &str, nonce: &str) -> ClientFirst {
    let user = User {
        hash,
        name: name.to_owned(),
        password: Secret::new(password),
    };
    ClientFirst::new(user, &STANDARD.decode(nonce).expect("a nonce"))
}

fn refusal<T>(outcome: Result<T>) -> String {
    match outcome {
        Ok(_) => panic!("accepted"),
        Err(failure) => failure.to_string(),
    }
}

/// The signature of a server with these keys.
pub(in crate::proto::auth) fn sign_as_server(keys: &SaltedKeys, hash: ScramHash, signed: &str) -> String {
    STANDARD.encode(hash.hmac(&keys.server, signed.as_bytes()))
}

/// `client-final-message`, and the state that expects the signature.
fn final_message(hash: ScramHash, nonce: &str, server_first: &str) -> (String, ClientFinal) {
    let (parameters, next) = client(hash, nonce)
        .handle_server_first(server_first.as_bytes())
        .unwrap();
    let (payload, next) = next.handle_keys(parameters.derive());
    (String::from_utf8(payload).unwrap(), next)
}

#[test]
fn the_examples_of_the_rfcs() {
    for (hash, nonce, server_first, proof, signature) in [
        (
            ScramHash::Sha1,
            "fyko+d2lbbFgONRv9qkxdawL",
            SERVER_FIRST_1,
            "MC2T8BvbmWRckDw8oWl5IVghwCY=",
            "v=UMWeI25JD1yNYZRMpZ4VHvhZ9e0=",
        ),
        (
            ScramHash::Sha256,
            "rOprNGfwEbeRWgbNEkqO",
            SERVER_FIRST_256,
            "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ),
    ] {
        let first = String::from_utf8(client(hash, nonce).payload()).unwrap();
        assert_eq!(first, format!("n,,n=user,r={nonce}"));
        let (message, next) = final_message(hash, nonce, server_first);
        let combined = server_first.split(',').next().unwrap();
        assert_eq!(message, format!("c=biws,{combined},p={proof}"));
        next.handle_server_final(signature.as_bytes()).unwrap();
    }
}

#[test]
fn auth_prose_iteration_count() {
    for (hash, server_first) in [
        (ScramHash::Sha1, SERVER_FIRST_1.replace("i=10000", "i=")),
        (ScramHash::Sha256, SERVER_FIRST_256.replace("i=4096", "i=")),
    ] {
        let nonce = match hash {
            ScramHash::Sha1 => "fyko+d2lbbFgONRv9qkxdawL",
            ScramHash::Sha256 => "rOprNGfwEbeRWgbNEkqO",
        };
        let with = |count: &str| {
            client(hash, nonce).handle_server_first(format!("{server_first}{count}").as_bytes())
        };
        assert!(with("4096").is_ok());
        assert!(refusal(with("4095")).contains("4095 iterations"));
        for (count, why) in [
            ("0", "not safe"),
            ("-1", "not a number"),
            ("+5000", "not a number"),
            ("", "not a number"),
            ("4096x", "not a number"),
            ("10000001", "too long"),
            ("99999999999999999999", "too long"),
        ] {
            assert!(refusal(with(count)).contains(why), "{count}");
        }
    }
}

#[test]
fn an_invalid_server_first_message_is_rejected() {
    let nonce = "rOprNGfwEbeRWgbNEkqO";
    for (message, why) in [
        ("r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096", "does not extend"),
        ("r=otherclient,s=AAAA,i=4096", "does not extend"),
        ("s=AAAA,i=4096", "lacks r="),
        ("r=rOprNGfwEbeRWgbNEkqOx,i=4096", "lacks s="),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA", "lacks i="),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=A,i=4096", "base64"),
        ("m=x,r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4096", "extension"),
        ("e=other-error", "other-error"),
        ("", "lacks r="),
    ] {
        let outcome = client(ScramHash::Sha256, nonce).handle_server_first(message.as_bytes());
        let error = refusal(outcome);
        assert!(error.contains(why), "{message}: {error}");
    }
    let outcome = client(ScramHash::Sha256, nonce).handle_server_first(&[0xff]);
    assert!(refusal(outcome).contains("UTF-8"));
}

#[test]
fn a_server_that_does_not_know_the_password_is_rejected() {
    for (message, why) in [
        ("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=", "base64"),
        ("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "is wrong"),
        ("v=6rriTRBi23WpRR/wtup+mA==", "is wrong"),
        ("v=", "is wrong"),
        ("e=invalid-proof", "invalid-proof"),
        ("", "no signature"),
        ("ok", "no signature"),
    ] {
        let (_, next) = final_message(ScramHash::Sha256, "rOprNGfwEbeRWgbNEkqO", SERVER_FIRST_256);
        let error = refusal(next.handle_server_final(message.as_bytes()));
        assert!(error.contains(why), "{message}: {error}");
    }
}

#[test]
fn names_are_escaped_and_passwords_prepared() {
    let first = named(ScramHash::Sha256, "a=b,c\u{ad}", "x", "AAAA").payload();
    assert_eq!(String::from_utf8(first).unwrap(), "n,,n=a=3Db=2Cc\u{ad},r=AAAA");
    let parameters = |hash, password| {
        named(hash, "u", password, "AAAA")
            .handle_server_first(b"r=AAAAx,s=AAAA,i=4096")
            .map(|(parameters, _)| parameters)
    };
    assert_eq!(
        parameters(ScramHash::Sha256, "I\u{ad}X")
            .unwrap()
            .password
            .expose(),
        "IX"
    );
    assert_eq!(
        parameters(ScramHash::Sha256, "\u{2168}")
            .unwrap()
            .password
            .expose(),
        "IX"
    );
    assert_eq!(
        parameters(ScramHash::Sha256, "\u{7}"),
        Err(AuthenticationFailure::Password)
    );
    // The MD5 digest of "u:mongo:x".
    let digested = parameters(ScramHash::Sha1, "x").unwrap().password;
    assert_eq!(digested.expose().len(), 32);
    assert_ne!(
        parameters(ScramHash::Sha1, "I\u{ad}X").unwrap().password,
        parameters(ScramHash::Sha1, "IX").unwrap().password
    );
}

#[test]
fn debug_prints_no_secrets() {
    let first = client(ScramHash::Sha256, "rOprNGfwEbeRWgbNEkqO");
    let shown = format!("{first:?}");
    let (parameters, next) = first.handle_server_first(SERVER_FIRST_256.as_bytes()).unwrap();
    let keys = parameters.derive();
    let shown = format!("{shown}{parameters:?}{keys:?}{next:?}");
    let shown = format!("{shown}{:?}", next.handle_keys(keys).1);
    assert!(!shown.contains("pencil"), "{shown}");
    assert!(shown.contains("<redacted>"));
}
