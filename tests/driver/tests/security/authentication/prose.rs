//! Prose tests of the Authentication specification: SCRAM.

use marula_driver::options::AuthMechanism;
use marula_test_server::TestServer;

use crate::authentication::{assert_refused, create_user, guarded, log_in, log_in_with, started, uri_of};

const SHA_1: &str = "SCRAM-SHA-1";
const SHA_256: &str = "SCRAM-SHA-256";

fn mechanism(name: &str) -> AuthMechanism {
    match name {
        SHA_1 => AuthMechanism::ScramSha1,
        _ => AuthMechanism::ScramSha256,
    }
}

async fn three_users() -> TestServer {
    let server = started(guarded()).await;
    create_user(&server, "sha1", "sha1", &[SHA_1]).await;
    create_user(&server, "sha256", "sha256", &[SHA_256]).await;
    create_user(&server, "both", "both", &[SHA_1, SHA_256]).await;
    server
}

#[tokio::test]
async fn auth_prose_scram_mechanisms_and_negotiation() {
    let server = three_users().await;
    for (user, mechanisms) in [
        ("sha1", &[SHA_1][..]),
        ("sha256", &[SHA_256]),
        ("both", &[SHA_1, SHA_256]),
    ] {
        let userinfo = format!("{user}:{user}");
        for name in mechanisms {
            let options = format!("authMechanism={name}");
            log_in(&uri_of(&server, &userinfo, &options)).await.unwrap();
            log_in_with(&server, user, user, Some(mechanism(name)))
                .await
                .unwrap();
        }
        log_in(&uri_of(&server, &userinfo, "")).await.unwrap();
        log_in_with(&server, user, user, None).await.unwrap();
    }
}

/// On a server that refuses conversations of the older hash, a user with both logs in only by the newer.
#[tokio::test]
async fn auth_prose_scram_negotiation_prefers_sha_256() {
    let newer_only = guarded().parameter("authenticationMechanisms", vec![SHA_256]);
    let server = started(newer_only).await;
    create_user(&server, "both", "both", &[SHA_1, SHA_256]).await;
    log_in(&uri_of(&server, "both:both", "")).await.unwrap();
    let named = uri_of(&server, "both:both", "authMechanism=SCRAM-SHA-1");
    assert_refused(&log_in(&named).await.unwrap_err(), 334);
}

#[tokio::test]
async fn auth_prose_scram_wrong_explicit_mechanism() {
    let server = three_users().await;
    for (user, name) in [("sha1", SHA_256), ("sha256", SHA_1)] {
        let options = format!("authMechanism={name}");
        let uri = uri_of(&server, &format!("{user}:{user}"), &options);
        assert_refused(&log_in(&uri).await.unwrap_err(), 18);
        let outcome = log_in_with(&server, user, user, Some(mechanism(name))).await;
        assert_refused(&outcome.unwrap_err(), 18);
    }
}

#[tokio::test]
async fn auth_prose_scram_unknown_user() {
    let server = three_users().await;
    for (userinfo, options) in [
        ("unknown:nothing", ""),
        ("both:wrong", ""),
        ("sha1:sha1", "authMechanism=SCRAM-SHA-256"),
    ] {
        let error = log_in(&uri_of(&server, userinfo, options)).await.unwrap_err();
        assert_refused(&error, 18);
    }
    for (user, password) in [("unknown", "nothing"), ("both", "wrong")] {
        let error = log_in_with(&server, user, password, None).await.unwrap_err();
        assert_refused(&error, 18);
    }
}

#[tokio::test]
async fn auth_prose_scram_saslprep() {
    let server = started(guarded()).await;
    create_user(&server, "IX", "IX", &[SHA_256]).await;
    create_user(&server, "\u{2168}", "\u{2163}", &[SHA_256]).await;
    for (user, password) in [
        ("IX", "IX"),
        ("IX", "I\u{ad}X"),
        ("\u{2168}", "IV"),
        ("\u{2168}", "I\u{ad}V"),
    ] {
        log_in_with(&server, user, password, None).await.unwrap();
    }
    for userinfo in ["IX:IX", "IX:I%C2%ADX", "%E2%85%A8:IV", "%E2%85%A8:I%C2%ADV"] {
        log_in(&uri_of(&server, userinfo, "").replace("/?", "/admin?"))
            .await
            .unwrap();
    }
    // Prepared or not, a wrong password is wrong.
    let error = log_in(&uri_of(&server, "IX:I%C2%ADV", "")).await.unwrap_err();
    assert_refused(&error, 18);
}
