//! Prose tests of the Authentication specification: SCRAM.

use marula_driver::options::AuthMechanism;
use marula_test_server::TestServer;

use crate::authentication::{
    assert_rejected, authenticate, authenticate_with, create_user, started, uri_of, with_root_user,
};

const SHA_1: &str = "SCRAM-SHA-1";
const SHA_256: &str = "SCRAM-SHA-256";

fn mechanism(name: &str) -> AuthMechanism {
    match name {
        SHA_1 => AuthMechanism::ScramSha1,
        _ => AuthMechanism::ScramSha256,
    }
}

async fn three_users() -> TestServer {
    let server = started(with_root_user()).await;
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
            authenticate(&uri_of(&server, &userinfo, &options)).await.unwrap();
            authenticate_with(&server, user, user, Some(mechanism(name)))
                .await
                .unwrap();
        }
        authenticate(&uri_of(&server, &userinfo, "")).await.unwrap();
        authenticate_with(&server, user, user, None).await.unwrap();
    }
}

/// A user with both mechanisms authenticates on a server that rejects SCRAM-SHA-1.
#[tokio::test]
async fn auth_prose_scram_negotiation_prefers_sha_256() {
    let newer_only = with_root_user().parameter("authenticationMechanisms", vec![SHA_256]);
    let server = started(newer_only).await;
    create_user(&server, "both", "both", &[SHA_1, SHA_256]).await;
    authenticate(&uri_of(&server, "both:both", "")).await.unwrap();
    let named = uri_of(&server, "both:both", "authMechanism=SCRAM-SHA-1");
    assert_rejected(&authenticate(&named).await.unwrap_err(), 334);
}

#[tokio::test]
async fn auth_prose_scram_wrong_explicit_mechanism() {
    let server = three_users().await;
    for (user, name) in [("sha1", SHA_256), ("sha256", SHA_1)] {
        let options = format!("authMechanism={name}");
        let uri = uri_of(&server, &format!("{user}:{user}"), &options);
        assert_rejected(&authenticate(&uri).await.unwrap_err(), 18);
        let outcome = authenticate_with(&server, user, user, Some(mechanism(name))).await;
        assert_rejected(&outcome.unwrap_err(), 18);
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
        let error = authenticate(&uri_of(&server, userinfo, options))
            .await
            .unwrap_err();
        assert_rejected(&error, 18);
    }
    for (user, password) in [("unknown", "nothing"), ("both", "wrong")] {
        let error = authenticate_with(&server, user, password, None)
            .await
            .unwrap_err();
        assert_rejected(&error, 18);
    }
}

#[tokio::test]
async fn auth_prose_scram_saslprep() {
    let server = started(with_root_user()).await;
    create_user(&server, "IX", "IX", &[SHA_256]).await;
    create_user(&server, "\u{2168}", "\u{2163}", &[SHA_256]).await;
    for (user, password) in [
        ("IX", "IX"),
        ("IX", "I\u{ad}X"),
        ("\u{2168}", "IV"),
        ("\u{2168}", "I\u{ad}V"),
    ] {
        authenticate_with(&server, user, password, None).await.unwrap();
    }
    for userinfo in ["IX:IX", "IX:I%C2%ADX", "%E2%85%A8:IV", "%E2%85%A8:I%C2%ADV"] {
        authenticate(&uri_of(&server, userinfo, "").replace("/?", "/admin?"))
            .await
            .unwrap();
    }
    // SASLprep does not make a wrong password valid.
    let error = authenticate(&uri_of(&server, "IX:I%C2%ADV", ""))
        .await
        .unwrap_err();
    assert_rejected(&error, 18);
}
