//! Stapled responses.

use marula_driver_tests::ocsp::{Responder, Signer, failure};
use tokio_rustls::rustls::{SupportedProtocolVersion, version::TLS12};

use super::*;

static ONLY_TLS12: [&SupportedProtocolVersion; 1] = [&TLS12];

#[tokio::test]
async fn an_invalid_staple_is_rejected() {
    let (authority, identity) = certified(&[]);
    let other_identity = Keys::Ecdsa.server(&authority, &[], false);
    let stranger = Authority::new();
    let impostor = authority.impostor();
    let impostors_delegate = Keys::Ecdsa.delegate(&impostor);
    let delegate = Keys::Ecdsa.delegate(&authority);
    let strangers_delegate = Keys::Ecdsa.delegate(&stranger);
    let no_delegate = authority.issue(&["other"]);
    for (staple, expected) in [
        (
            response(&authority, &identity, Status::Good, |r| r.next_update = Some(-1)),
            "has expired at",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                (r.this_update, r.next_update) = (600, Some(900));
            }),
            "is valid only from",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                r.serial = other_identity.serial().to_vec();
            }),
            "is about another certificate",
        ),
        (
            response(&authority, &identity, Status::Good, |r| r.authority = &stranger),
            "is about another certificate",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                r.signer = Signer::Authority(&stranger);
            }),
            "is not signed by the certificate's issuer",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                r.signer = Signer::Delegate(&strangers_delegate);
            }),
            "was not issued for OCSP signing",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                r.signer = Signer::Delegate(&no_delegate);
            }),
            "was not issued for OCSP signing",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                r.signer = Signer::Authority(&impostor);
            }),
            "has a wrong signature",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                r.signer = Signer::Delegate(&impostors_delegate);
            }),
            "was not issued for OCSP signing",
        ),
        (
            response(&authority, &identity, Status::Good, |r| {
                (r.this_update, r.next_update) = (-8 * 24 * 3600, None);
            }),
            "has expired at",
        ),
        (b"no DER".to_vec(), "is malformed"),
        (failure(3), "tryLater"),
        (failure(6), "unauthorized"),
    ] {
        let encrypted = Encrypted::stapling(&authority, &identity, staple.clone()).await;
        let text = rejection(encrypted.attempt("").await);
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(text.contains("tlsDisableCertificateRevocationCheck"), "{text}");
        // Disabling endpoint checks does not disable stapled responses, nor does disabling the host
        // name check.
        rejection(encrypted.attempt("tlsDisableOCSPEndpointCheck=true").await);
        rejection(encrypted.attempt("tlsAllowInvalidHostnames=true").await);
        let off = encrypted
            .attempt("tlsDisableCertificateRevocationCheck=true")
            .await;
        off.unwrap_or_else(|error| panic!("{expected}: {error}"));
    }
    let mut forged = response(&authority, &identity, Status::Good, |response| {
        response.signer = Signer::Delegate(&delegate);
    });
    // The last byte belongs to the certificate of the delegated responder.
    *forged.last_mut().expect("bytes") ^= 1;
    let encrypted = Encrypted::stapling(&authority, &identity, forged).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("was not issued for OCSP signing"), "{text}");
}

#[tokio::test]
async fn every_form_of_a_valid_response_is_accepted() {
    let (authority, identity) = certified(&[]);
    let delegate = Keys::Ecdsa.delegate(&authority);
    for sha256 in [false, true] {
        for by_key in [false, true] {
            for signer in [Signer::Authority(&authority), Signer::Delegate(&delegate)] {
                let of = |status| {
                    response(&authority, &identity, status, |response| {
                        (response.sha256, response.by_key) = (sha256, by_key);
                        response.signer = signer;
                    })
                };
                let good = of(Status::Good);
                let encrypted = Encrypted::stapling(&authority, &identity, good).await;
                encrypted.attempt("").await.expect("a connection");
                let revoked = of(Status::Revoked);
                let encrypted = Encrypted::stapling(&authority, &identity, revoked).await;
                let text = rejection(encrypted.attempt("").await);
                assert!(text.contains("(key compromise)"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn no_request_is_sent_for_a_staple_that_cannot_be_cached() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let good = response(&authority, &identity, Status::Good, |response| {
        response.next_update = None;
    });
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let options = TerminatorOptions {
        staple: good,
        disable_resumption: true,
        ..TerminatorOptions::default()
    };
    let encrypted = Encrypted::start(&authority, &identity, options).await;
    let settings = encrypted.settings("", LONG);
    for _ in 0..3 {
        encrypted.connect(&settings).await.expect("a connection");
    }
    assert_eq!(responder.requests(), 0);
}

#[tokio::test]
async fn an_unknown_status_in_the_staple_is_resolved_by_the_responder() {
    let responder = Responder::start().await;
    let (authority, identity) = certified(&[&responder.url]);
    let unknown = response(&authority, &identity, Status::Unknown, |_| {});
    responder.set_response(response(&authority, &identity, Status::Revoked, |_| {}));
    let encrypted = Encrypted::stapling(&authority, &identity, unknown).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("according to the OCSP responder"), "{text}");
}

#[tokio::test]
async fn a_must_staple_certificate_requires_a_conclusive_staple() {
    let authority = Authority::new();
    let identity = Keys::Ecdsa.server(&authority, &[], true);
    let good = response(&authority, &identity, Status::Good, |_| {});
    let encrypted = Encrypted::stapling(&authority, &identity, good).await;
    ping(&encrypted.uri(&format!("tlsCAFile={}", encrypted.ca_file)))
        .await
        .expect("a ping");

    let unknown = response(&authority, &identity, Status::Unknown, |_| {});
    let encrypted = Encrypted::stapling(&authority, &identity, unknown).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("does not know the certificate"), "{text}");
}

#[tokio::test]
async fn staples_are_checked_with_tls_1_2() {
    let (authority, identity) = certified(&[]);
    let revoked = response(&authority, &identity, Status::Revoked, |_| {});
    let options = TerminatorOptions {
        staple: revoked,
        versions: &ONLY_TLS12,
        ..TerminatorOptions::default()
    };
    let encrypted = Encrypted::start(&authority, &identity, options).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("was revoked at"), "{text}");
}

#[tokio::test]
async fn responses_are_verified_with_the_issuer_of_the_certificate() {
    let root = Authority::new();
    let issuer = root.subordinate();
    let identity = Keys::Ecdsa.server(&issuer, &[], false);
    let revoked = response(&issuer, &identity, Status::Revoked, |_| {});
    let encrypted = Encrypted::stapling(&root, &identity, revoked.clone()).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("was revoked at"), "{text}");

    let by_root = response(&issuer, &identity, Status::Good, |response| {
        response.signer = Signer::Authority(&root);
    });
    let encrypted = Encrypted::stapling(&root, &identity, by_root).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("is not signed by"), "{text}");

    // The issuer is the trusted root, and the server does not send it.
    let alone = identity.without_chain();
    let encrypted = Encrypted::stapling(&issuer, &alone, revoked).await;
    let text = rejection(encrypted.attempt("").await);
    assert!(text.contains("was revoked at"), "{text}");
    let good = response(&issuer, &alone, Status::Good, |_| {});
    let encrypted = Encrypted::stapling(&issuer, &alone, good).await;
    encrypted.attempt("").await.expect("a connection");
}
