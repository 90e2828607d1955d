//! The fuzz target for the replies of a server in the authentication: SCRAM, OIDC, and the outcomes of the other mechanisms.

use std::time::Duration;

use marula_driver::{
    bson::{Binary, BinarySubtype, doc, to_vec},
    internals::auth::{Identity, Login, Mechanism, Offer, OidcFlow, ScramHash, Step},
    options::AwsCredentials,
};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "authentication",
    run,
    seeds,
};

const NONCE: [u8; 32] = *b"12345678901234567890123412345678";

/// The same reply for each command. Keys are not derived, and tokens not obtained: the conversation ends there.
fn run(bytes: &[u8]) {
    for mechanism in [
        Mechanism::Scram(ScramHash::Sha1),
        Mechanism::Scram(ScramHash::Sha256),
        Mechanism::X509,
        Mechanism::Plain,
        Mechanism::Aws,
        Mechanism::Oidc(OidcFlow::Human),
    ] {
        let login = || {
            let identity = Identity::new(Some(mechanism), "admin", Some("user"), Some("pencil"));
            Login::new(identity, NONCE)
        };
        follow(login().begin(None), bytes);
        if let Ok(step) = login().handle_hello(&Offer::parse(bytes), NONCE) {
            follow(step, bytes);
        }
    }
}

fn follow(mut step: Step, bytes: &[u8]) {
    // A conversation has at most four commands; a server that never ends one is refused.
    for _ in 0..8 {
        let awaiting = match step {
            Step::Send(_, awaiting) => awaiting,
            Step::Credentials(awaiting) => {
                let credentials = AwsCredentials::new("AKID", "pencil");
                step = awaiting.handle_credentials(credentials, Duration::from_secs(1_700_000_000));
                continue;
            }
            _ => return,
        };
        match awaiting.handle_reply(bytes) {
            Ok(next) => step = next,
            Err(error) => {
                assert!(!error.to_string().contains("pencil"), "{error}");
                return;
            }
        }
    }
    panic!("the conversation does not end");
}

fn seeds() -> Vec<Vec<u8>> {
    let binary = |bytes: &[u8]| Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    };
    let reply = |payload: &[u8], done: bool| {
        let reply = doc! { "conversationId": 1, "payload": binary(payload), "done": done, "ok": 1 };
        to_vec(&reply).expect("a document")
    };
    let idp = to_vec(&doc! { "issuer": "https://idp.example", "clientId": "c", "requestScopes": ["a"] })
        .expect("a document");
    let speculative = doc! {
        "ok": 1, "saslSupportedMechs": ["SCRAM-SHA-1", "SCRAM-SHA-256"],
        "speculativeAuthenticate": { "conversationId": 1, "done": false, "payload": binary(b"r=12345678901234567890123412345678x,s=QSXCR+Q6sek8bf92,i=4096") },
    };
    let mut nonce = NONCE.to_vec();
    nonce.extend([9; 32]);
    let aws =
        to_vec(&doc! { "s": binary(&nonce), "h": "sts.eu-central-1.amazonaws.com" }).expect("a document");
    vec![
        reply(&aws, false),
        reply(
            b"r=12345678901234567890123412345678x,s=QSXCR+Q6sek8bf92,i=4096",
            false,
        ),
        reply(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", true),
        reply(b"", true),
        reply(&idp, false),
        to_vec(&speculative).expect("a document"),
    ]
}
