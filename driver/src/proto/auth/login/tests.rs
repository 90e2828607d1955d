//! Tests of authentication from the handshake to the last reply.

use base64::engine::{Engine as _, general_purpose::STANDARD};

use super::{
    super::{
        oidc::TokenSource,
        scram::{SaltedKeys, tests::sign_as_server},
    },
    *,
};
use crate::bson::{BinarySubtype, Bson, Document, decode_document, doc, to_vec};

/// A nonce of the length that the driver uses; that of the example in RFC 7677 is shorter.
const NONCE: Nonce = *b"12345678901234567890123412345678";

fn identity(mechanism: Option<Mechanism>) -> Identity {
    Identity::new(mechanism, "admin", Some("user"), Some("pencil"))
}

fn login(mechanism: Option<Mechanism>) -> Login {
    Login::new(identity(mechanism), NONCE)
}

fn written(write: impl FnOnce(&mut DocumentWriter<'_>)) -> Document {
    let mut buffer = Vec::new();
    let mut writer = DocumentWriter::new(&mut buffer);
    let start = writer.begin();
    write(&mut writer);
    writer.end(start);
    writer.finish().unwrap();
    decode_document(&buffer).unwrap()
}

fn hello(login: &Login) -> Document {
    written(|command| login.write_hello(command))
}

fn payload(document: &Document) -> String {
    let bytes = document.get_binary_generic("payload").unwrap();
    String::from_utf8(bytes.clone()).unwrap()
}

fn binary(text: &str) -> Bson {
    Bson::Binary(crate::bson::Binary {
        subtype: BinarySubtype::Generic,
        bytes: text.as_bytes().to_vec(),
    })
}

fn reply(text: &str, done: bool) -> Vec<u8> {
    to_vec(&doc! { "conversationId": 7_i64, "payload": binary(text), "done": done, "ok": 1 }).unwrap()
}

fn sent(step: Result<Step>) -> (Document, Awaiting) {
    match step {
        Ok(Step::Send(request, awaiting)) => (written(|command| request.write(command)), awaiting),
        Ok(_) => panic!("another step"),
        Err(error) => panic!("{error}"),
    }
}

fn failure<T>(step: Result<T>) -> String {
    match step {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

/// A server that knows the password: its first message, and its keys.
fn serve(first: &str, hash: ScramHash) -> (String, SaltedKeys) {
    let nonce = first.rsplit_once("r=").unwrap().1;
    let server_first = format!("r={nonce}abc,s=AAAA,i=4096");
    let user = User {
        hash,
        name: "user".to_owned(),
        password: Secret::new("pencil"),
    };
    let client = ClientFirst::new(user, &STANDARD.decode(nonce).unwrap());
    let (parameters, _) = client.handle_server_first(server_first.as_bytes()).unwrap();
    (server_first, parameters.derive())
}

#[test]
fn mechanisms_are_negotiated_only_if_none_is_configured() {
    let negotiated = hello(&login(None));
    assert_eq!(negotiated.get_str("saslSupportedMechs").unwrap(), "admin.user");
    let start = negotiated.get_document("speculativeAuthenticate").unwrap();
    assert_eq!(start.get_str("mechanism").unwrap(), "SCRAM-SHA-256");
    assert_eq!(start.get_str("db").unwrap(), "admin");
    assert!(
        start
            .get_document("options")
            .unwrap()
            .get_bool("skipEmptyExchange")
            .unwrap()
    );
    let named = hello(&login(Some(Mechanism::Scram(ScramHash::Sha1))));
    assert!(!named.contains_key("saslSupportedMechs"));
    let start = named.get_document("speculativeAuthenticate").unwrap();
    assert_eq!(start.get_str("mechanism").unwrap(), "SCRAM-SHA-1");
    assert!(hello(&login(Some(Mechanism::Plain))).is_empty());
}

#[test]
fn the_mechanism_follows_sasl_supported_mechs() {
    for (mechanisms, chosen) in [
        (Some(vec!["SCRAM-SHA-1", "X", "SCRAM-SHA-256"]), "SCRAM-SHA-256"),
        (Some(vec!["SCRAM-SHA-1"]), "SCRAM-SHA-1"),
        (Some(vec!["PLAIN"]), "SCRAM-SHA-1"),
        (Some(vec![]), "SCRAM-SHA-1"),
        (None, "SCRAM-SHA-1"),
    ] {
        let mut said = doc! { "ok": 1 };
        if let Some(mechanisms) = mechanisms {
            said.insert("saslSupportedMechs", mechanisms);
        }
        let said = to_vec(&said).unwrap();
        let (start, awaiting) = sent(login(None).handle_hello(&Offer::parse(&said), [1; 32]));
        assert_eq!(start.get_str("mechanism").unwrap(), chosen);
        assert_eq!(awaiting.mechanism().as_str(), chosen);
        assert!(payload(&start).ends_with(&"AQEB".repeat(8)), "the nonce is fresh");
    }
    for odd in [
        doc! { "saslSupportedMechs": [1, null] },
        doc! { "saslSupportedMechs": 5 },
    ] {
        let odd = to_vec(&odd).unwrap();
        let (start, _) = sent(login(None).handle_hello(&Offer::parse(&odd), [1; 32]));
        assert_eq!(start.get_str("mechanism").unwrap(), "SCRAM-SHA-1");
    }
}

#[test]
fn the_speculative_reply_is_used_if_the_mechanism_matches() {
    let started = login(None);
    let first = payload(hello(&started).get_document("speculativeAuthenticate").unwrap());
    let (server_first, keys) = serve(&first, ScramHash::Sha256);
    let speculative = doc! { "conversationId": 1, "payload": binary(&server_first), "done": false };
    let said = to_vec(&doc! {
        "saslSupportedMechs": ["SCRAM-SHA-256"], "speculativeAuthenticate": speculative.clone(),
    })
    .unwrap();
    let Ok(Step::Derive(parameters, awaiting)) = started.handle_hello(&Offer::parse(&said), [1; 32]) else {
        panic!("another step");
    };
    assert_eq!(awaiting.mechanism().as_str(), "SCRAM-SHA-256");
    assert!(parameters.derive() == keys);
    let (last, _) = sent(Ok(awaiting.handle_keys(keys)));
    assert_eq!(last.get_i32("conversationId").unwrap(), 1);
    assert!(payload(&last).starts_with("c=biws,r="));
    // The user only has credentials for the other hash function.
    let said =
        to_vec(&doc! { "saslSupportedMechs": ["SCRAM-SHA-1"], "speculativeAuthenticate": speculative })
            .unwrap();
    let (start, _) = sent(login(None).handle_hello(&Offer::parse(&said), [1; 32]));
    assert_eq!(start.get_str("mechanism").unwrap(), "SCRAM-SHA-1");
}

/// A conversation after the client's proof, which expects the server's final message.
fn proved() -> (Awaiting, Vec<u8>) {
    let said = to_vec(&doc! {}).unwrap();
    let (start, awaiting) = sent(login(None).handle_hello(&Offer::parse(&said), NONCE));
    let first = payload(&start);
    let (server_first, keys) = serve(&first, ScramHash::Sha1);
    let Ok(Step::Derive(_, awaiting)) = awaiting.handle_reply(&reply(&server_first, false)) else {
        panic!("another step");
    };
    let (last, awaiting) = sent(Ok(awaiting.handle_keys(keys.clone())));
    assert_eq!(last.get_i64("conversationId").unwrap(), 7);
    let last = payload(&last);
    let without_proof = last.split(",p=").next().unwrap();
    let signed = format!(
        "{},{server_first},{without_proof}",
        first.strip_prefix("n,,").unwrap()
    );
    let signature = sign_as_server(&keys, ScramHash::Sha1, &signed);
    (awaiting, reply(&format!("v={signature}"), true))
}

#[test]
fn a_conversation_ends_with_the_servers_signature() {
    let (awaiting, signature) = proved();
    assert!(matches!(awaiting.handle_reply(&signature), Ok(Step::Done)));
}

#[test]
fn a_server_may_require_an_empty_exchange_at_the_end() {
    let (awaiting, signature) = proved();
    let text = payload(&decode_document(&signature).unwrap());
    let (last, awaiting) = sent(awaiting.handle_reply(&reply(&text, false)));
    assert_eq!(payload(&last), "");
    assert!(matches!(awaiting.handle_reply(&reply("", true)), Ok(Step::Done)));
    let (awaiting, _) = proved();
    let (_, awaiting) = sent(awaiting.handle_reply(&reply(&text, false)));
    assert!(failure(awaiting.handle_reply(&reply("", false))).contains("does not end"));
}

#[test]
fn a_server_without_signature_is_rejected() {
    let said = to_vec(&doc! {}).unwrap();
    let (_, awaiting) = sent(login(None).handle_hello(&Offer::parse(&said), NONCE));
    assert!(failure(awaiting.handle_reply(&reply("", true))).contains("before it proved itself"));
    let (awaiting, _) = proved();
    assert!(failure(awaiting.handle_reply(&reply("", true))).contains("no signature"));
    let (awaiting, _) = proved();
    let no_payload = to_vec(&doc! { "conversationId": 1, "done": true }).unwrap();
    assert!(failure(awaiting.handle_reply(&no_payload)).contains("no payload"));
    let (awaiting, _) = proved();
    assert!(failure(awaiting.handle_reply(b"nonsense")).contains("not valid BSON"));
}

#[test]
fn x509_uses_one_command() {
    let named = |username: Option<&str>| {
        Login::new(
            Identity::new(Some(Mechanism::X509), "$external", username, None),
            NONCE,
        )
    };
    let spoken = hello(&named(None));
    assert_eq!(
        spoken.get_document("speculativeAuthenticate").unwrap(),
        &doc! { "authenticate": 1, "mechanism": "MONGODB-X509", "db": "$external" }
    );
    let said =
        to_vec(&doc! { "speculativeAuthenticate": { "dbname": "$external", "user": "CN=x" } }).unwrap();
    assert!(matches!(
        named(None).handle_hello(&Offer::parse(&said), NONCE),
        Ok(Step::Done)
    ));
    let said = to_vec(&doc! {}).unwrap();
    let (command, awaiting) = sent(named(Some("CN=x")).handle_hello(&Offer::parse(&said), NONCE));
    assert_eq!(command.get_str("user").unwrap(), "CN=x");
    assert!(matches!(
        awaiting.handle_reply(&to_vec(&doc! { "ok": 1 }).unwrap()),
        Ok(Step::Done)
    ));
}

#[test]
fn plain_uses_one_command() {
    let said = to_vec(&doc! {}).unwrap();
    let step = login(Some(Mechanism::Plain)).handle_hello(&Offer::parse(&said), NONCE);
    let (command, awaiting) = sent(step);
    assert_eq!(command.get_str("mechanism").unwrap(), "PLAIN");
    let bytes = command.get_binary_generic("payload").unwrap();
    assert_eq!(*bytes, STANDARD.decode("AHVzZXIAcGVuY2ls").unwrap());
    assert!(!command.contains_key("options"));
    assert!(matches!(awaiting.handle_reply(&reply("", true)), Ok(Step::Done)));
    let (_, awaiting) = sent(Ok(login(Some(Mechanism::Plain)).begin(None)));
    assert!(
        failure(awaiting.handle_reply(&reply("", false))).contains("PLAIN failed: the server does not end")
    );
}

#[test]
fn debug_prints_no_secrets() {
    let started = login(None);
    let (awaiting, _) = proved();
    let shown = format!("{started:?}{awaiting:?}");
    assert!(!shown.contains("pencil"), "{shown}");
}

fn oidc(flow: OidcFlow, username: Option<&str>) -> Login {
    let mechanism = Some(Mechanism::Oidc(flow));
    Login::new(Identity::new(mechanism, "$external", username, None), NONCE)
}

fn token(text: &str, source: TokenSource) -> Token {
    Token {
        text: Secret::new(text),
        source,
    }
}

/// The payload of a command of OIDC.
fn message(command: &Document) -> Document {
    decode_document(command.get_binary_generic("payload").unwrap()).unwrap()
}

fn requested(step: Option<Step>) -> (TokenRequest, AwaitingToken) {
    match step {
        Some(Step::Token(request, awaiting)) => (request, awaiting),
        Some(_) => panic!("another step"),
        None => panic!("no step"),
    }
}

/// A reply whose payload is a document.
fn reply_with(payload: &Document, done: bool) -> Vec<u8> {
    let payload = Bson::Binary(crate::bson::Binary {
        subtype: BinarySubtype::Generic,
        bytes: to_vec(payload).unwrap(),
    });
    to_vec(&doc! { "conversationId": 7_i64, "payload": payload, "done": done, "ok": 1 }).unwrap()
}

#[test]
fn a_cached_token_is_sent_in_the_handshake() {
    for flow in [OidcFlow::Machine, OidcFlow::Human] {
        assert!(hello(&oidc(flow, None)).is_empty(), "no token, no speculation");
        let cached = || oidc(flow, None).with_cached_token(Some(token("t0", TokenSource::Cache)));
        let hello = hello(&cached());
        let start = hello.get_document("speculativeAuthenticate").unwrap();
        assert_eq!(start.get_str("mechanism").unwrap(), "MONGODB-OIDC");
        assert_eq!(start.get_str("db").unwrap(), "$external");
        assert_eq!(message(start), doc! { "jwt": "t0" });
        let answer = |done| {
            let reply = decode_document(&reply_with(&doc! {}, done)).unwrap();
            to_vec(&doc! { "ok": 1, "speculativeAuthenticate": reply }).unwrap()
        };
        let accepted = answer(true);
        let step = cached().handle_hello(&Offer::parse(&accepted), NONCE);
        assert!(matches!(step, Ok(Step::Done)));
        // A speculation that did not succeed has no effect.
        let nothing = to_vec(&doc! { "ok": 1 }).unwrap();
        for said in [answer(false), nothing] {
            let step = cached().handle_hello(&Offer::parse(&said), NONCE).ok();
            assert_eq!(requested(step).0, TokenRequest::Stored);
        }
    }
}

#[test]
fn a_rejected_cached_token_is_replaced_once_in_the_machine_flow() {
    let (request, awaiting) = requested(Some(oidc(OidcFlow::Machine, None).begin(None)));
    assert_eq!(request, TokenRequest::Stored);
    let old = token("t0", TokenSource::Cache);
    let (start, awaiting) = sent(Ok(awaiting.handle_token(Some(old.clone()))));
    assert_eq!(start.get_i32("saslStart").unwrap(), 1);
    assert_eq!(message(&start), doc! { "jwt": "t0" });
    assert_eq!(awaiting.token(), Some(&old));
    let (request, awaiting) = requested(awaiting.handle_refusal(18));
    assert_eq!(request, TokenRequest::Replace(old));
    let (start, awaiting) = sent(Ok(awaiting.handle_token(Some(token("t1", TokenSource::New)))));
    assert_eq!(message(&start), doc! { "jwt": "t1" });
    assert!(awaiting.handle_refusal(18).is_none());
}

#[test]
fn the_human_flow_asks_the_server_for_the_identity_provider() {
    let (_, awaiting) = requested(Some(oidc(OidcFlow::Human, Some("ada")).begin(None)));
    let (start, awaiting) = sent(Ok(awaiting.handle_token(None)));
    assert_eq!(message(&start), doc! { "n": "ada" });
    assert_eq!(awaiting.token(), None);
    let step = awaiting.handle_reply(&reply_with(&doc! { "issuer": "https://a" }, false));
    let (request, awaiting) = requested(step.ok());
    let TokenRequest::Ask(info) = request else {
        panic!("{request:?}");
    };
    assert_eq!(info.issuer, "https://a");
    let (next, awaiting) = sent(Ok(awaiting.handle_token(Some(token("t0", TokenSource::New)))));
    assert_eq!(next.get_i32("saslContinue").unwrap(), 1);
    assert_eq!(next.get_i64("conversationId").unwrap(), 7);
    assert_eq!(message(&next), doc! { "jwt": "t0" });
    let done = awaiting.handle_reply(&reply_with(&doc! {}, true));
    assert!(matches!(done, Ok(Step::Done)));
}

#[test]
fn a_server_that_violates_oidc_is_rejected() {
    let asked = || {
        let (_, awaiting) = requested(Some(oidc(OidcFlow::Human, None).begin(None)));
        let (start, awaiting) = sent(Ok(awaiting.handle_token(None)));
        assert_eq!(message(&start), doc! {});
        awaiting
    };
    assert!(asked().handle_refusal(18).is_none());
    let early = asked().handle_reply(&reply_with(&doc! { "issuer": "https://a" }, true));
    assert!(failure(early).contains("before an access token"));
    assert!(failure(asked().handle_reply(&reply_with(&doc! {}, false))).contains("issuer"));
    let (_, awaiting) = requested(Some(oidc(OidcFlow::Machine, None).begin(None)));
    let (_, awaiting) = sent(Ok(awaiting.handle_token(Some(token("t0", TokenSource::New)))));
    let shown = format!("{awaiting:?}");
    assert!(!shown.contains("t0"), "{shown}");
    let open = awaiting.handle_reply(&reply_with(&doc! {}, false));
    assert!(failure(open).contains("does not end"));
}

#[cfg(feature = "aws-auth")]
#[test]
fn aws_signs_the_nonce_of_the_server() {
    use std::time::Duration;

    use crate::types::aws_credentials::AwsCredentials;

    let identity = Identity::new(Some(Mechanism::Aws), "$external", None, None);
    assert!(hello(&Login::new(identity.clone(), NONCE)).is_empty());
    let Step::Credentials(awaiting) = Login::new(identity, NONCE).begin(None) else {
        panic!("another step");
    };
    let credentials = AwsCredentials::new("AKID", "secret-key").with_session_token("session");
    let now = Duration::from_secs(1_577_836_800);
    let (start, awaiting) = sent(Ok(awaiting.handle_credentials(credentials, now)));
    assert_eq!(start.get_str("mechanism").unwrap(), "MONGODB-AWS");
    let first = message(&start);
    assert_eq!(first.get_binary_generic("r").unwrap().as_slice(), NONCE);
    assert_eq!(first.get_i32("p").unwrap(), 110);
    let shown = format!("{awaiting:?}");
    assert!(
        !shown.contains("secret-key") && !shown.contains("session\""),
        "{shown}"
    );
    let mut nonce = NONCE.to_vec();
    nonce.resize(64, 9);
    let nonce = crate::bson::Binary {
        subtype: BinarySubtype::Generic,
        bytes: nonce,
    };
    let step = awaiting.handle_reply(&reply_with(&doc! { "s": nonce, "h": "localhost" }, false));
    let (next, awaiting) = sent(step);
    let second = message(&next);
    assert_eq!(second.get_str("d").unwrap(), "20200101T000000Z");
    assert!(
        second
            .get_str("a")
            .unwrap()
            .starts_with("AWS4-HMAC-SHA256 Credential=AKID/20200101/")
    );
    assert_eq!(second.get_str("t").unwrap(), "session");
    let done = awaiting.handle_reply(&reply_with(&doc! {}, true));
    assert!(matches!(done, Ok(Step::Done)));
}
