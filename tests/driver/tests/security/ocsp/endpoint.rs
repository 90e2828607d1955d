//! Responses of OCSP responders, and responders that fail.

use marula_driver_tests::ocsp::{Reply, Responder, Signer, UNREACHABLE, failure};

use super::*;

#[tokio::test]
async fn the_request_contains_only_the_certificate_id() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let good = response(&authority, &identity, Status::Good, |_| {});
    responder.set_reply(Reply::Chunks(good));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    encrypted.attempt("").await.expect("a connection");
    assert_eq!(responder.requests(), 1);
    let request = responder.last_request();
    let head = String::from_utf8_lossy(&request);
    assert!(head.starts_with("POST /ocsp HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: application/ocsp-request\r\n"),
        "{head}"
    );
    assert!(
        request.ends_with(identity.serial()),
        "no nonce follows the serial number"
    );
}

#[tokio::test]
async fn inconclusive_responses_do_not_reject_the_certificate() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let stranger = Authority::new();
    let impostor = authority.impostor();
    let no_delegate = authority.issue(&["other"]);
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let mut asked = 0;
    for reply in [
        Reply::Body(response(&authority, &identity, Status::Revoked, |r| {
            r.next_update = Some(-1);
        })),
        Reply::Body(response(&authority, &identity, Status::Revoked, |r| {
            (r.this_update, r.next_update) = (600, Some(900));
        })),
        Reply::Body(response(&authority, &identity, Status::Revoked, |r| {
            r.serial = vec![1];
        })),
        Reply::Body(response(&authority, &identity, Status::Revoked, |r| {
            r.signer = Signer::Authority(&stranger);
        })),
        Reply::Body(response(&authority, &identity, Status::Revoked, |r| {
            r.signer = Signer::Authority(&impostor);
        })),
        Reply::Body(response(&authority, &identity, Status::Revoked, |r| {
            r.signer = Signer::Delegate(&no_delegate);
        })),
        Reply::Body(response(&authority, &identity, Status::Unknown, |_| {})),
        Reply::Body(failure(3)),
        Reply::Body(b"no DER".to_vec()),
        Reply::Body(vec![0x30; 100_000]),
        Reply::Body(Vec::new()),
        Reply::Status(500),
        Reply::Status(301),
        Reply::Raw(b"220 no HTTP\r\n\r\n".to_vec()),
        Reply::Raw(Vec::new()),
    ] {
        responder.set_reply(reply.clone());
        let outcome = encrypted.attempt("").await;
        outcome.unwrap_or_else(|error| panic!("{reply:?}: {error}"));
        asked += 1;
        assert_eq!(responder.requests(), asked, "{reply:?}");
    }
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let text = rejection(encrypted.attempt("").await);
    assert!(
        text.contains(&format!("according to the OCSP responder {}", responder.url)),
        "{text}"
    );
}

#[tokio::test]
async fn delegated_responders_are_accepted() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let delegate = Keys::Ecdsa.delegate(&authority);
    responder.set_response(response(&authority, &identity, Status::Revoked, |response| {
        response.signer = Signer::Delegate(&delegate);
        response.by_key = true;
    }));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    rejection(encrypted.attempt("").await);
}

#[tokio::test]
async fn the_first_conclusive_response_of_several_responders_is_used() {
    let silent = Responder::start().await;
    let ignorant = Responder::start().await;
    let knowing = Responder::start().await;
    let urls = [
        "https://localhost/",
        "ldap://localhost/",
        UNREACHABLE,
        &silent.url,
        &ignorant.url,
        &knowing.url,
    ];
    let (authority, identity) = certified(&urls);
    ignorant.set_response(response(&authority, &identity, Status::Unknown, |_| {}));
    knowing.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains(&knowing.url), "{text}");
}

#[tokio::test]
async fn options_disable_requests_to_responders() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let encrypted = Encrypted::bare(&authority, &identity).await;
    for option in [
        "tlsDisableOCSPEndpointCheck",
        "tlsDisableCertificateRevocationCheck",
    ] {
        encrypted
            .attempt(&format!("{option}=true"))
            .await
            .expect("a connection");
        assert_eq!(responder.requests(), 0, "{option}");
    }
    for option in [
        "tlsDisableOCSPEndpointCheck",
        "tlsDisableCertificateRevocationCheck",
    ] {
        rejection(encrypted.attempt(&format!("{option}=false")).await);
    }
    rejection(encrypted.attempt("tlsAllowInvalidHostnames=true").await);
    assert_eq!(responder.requests(), 3);
}

#[tokio::test]
async fn a_responder_that_hangs_delays_one_connection_and_rejects_none() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let settings = encrypted.settings("", Duration::from_secs(4));
    encrypted.connect(&settings).await.expect("a connection in time");
    // The failure is cached, so no further request is sent.
    encrypted.connect(&settings).await.expect("another");
    assert_eq!(responder.requests(), 1);
}

#[tokio::test]
async fn only_the_server_certificate_is_checked() {
    let responder = Responder::start().await;
    let root = Authority::new();
    let issuer = root.subordinate();
    let identity = Keys::Ecdsa.server(&issuer, &[&responder.url], false);
    responder.set_response(response(&issuer, &identity, Status::Good, |_| {}));
    let encrypted = Encrypted::bare(&root, &identity).await;
    encrypted.attempt("").await.expect("a connection");
    assert_eq!(responder.requests(), 1);
    responder.set_response(response(&issuer, &identity, Status::Revoked, |_| {}));
    rejection(encrypted.attempt("").await);
}

/// A request to a responder is limited by the time limit of the operation, and by 5 s.
#[tokio::test]
async fn client_side_operations_timeout_prose_unit_5() {
    let responder = Responder::start().await;
    responder.set_reply(Reply::Nothing);
    let (authority, identity) = certified(&[&responder.url]);
    let encrypted = Encrypted::bare(&authority, &identity).await;
    let uri = |options: &str| encrypted.uri(&format!("tlsCAFile={}&{options}", encrypted.ca_file));

    let began = std::time::Instant::now();
    let error = ping(&uri("timeoutMS=2000")).await.expect_err("a timeout");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(responder.requests() > 0);

    // Nothing else limits the connection, so the request ends by its own limit. Without a response, the
    // certificate is accepted.
    let unlimited = uri("connectTimeoutMS=0&serverSelectionTimeoutMS=60000");
    ping(&unlimited).await.expect("a connection");
}
