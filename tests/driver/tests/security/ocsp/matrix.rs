//! The test plan of the OCSP Support specification: seven columns, each with every type of key,
//! every signer of responses and every connection string.

use marula_driver::internals::wait_for_description;
use marula_driver_tests::ocsp::{Responder, Signer, UNREACHABLE};

use super::*;

/// A column of the test plan.
#[derive(Clone, Copy)]
struct Column {
    /// The reply of the responder; `None`: the responder is unreachable.
    responder: Option<Status>,
    staples: bool,
    must_staple: bool,
    /// The expected error with `tls=true`; `None`: the connection succeeds.
    rejection: Option<&'static str>,
}

const TEST_1: Column = Column {
    responder: Some(Status::Good),
    staples: true,
    must_staple: false,
    rejection: None,
};

async fn run(column: Column) {
    let delegations: &[bool] = match column.responder {
        Some(_) => &[false, true],
        None => &[false],
    };
    for keys in [Keys::Rsa, Keys::Ecdsa] {
        for delegated in delegations {
            run_with(column, keys, *delegated).await;
        }
    }
}

async fn run_with(column: Column, keys: Keys, delegated: bool) {
    let authority = keys.authority();
    let delegate = keys.delegate(&authority);
    let responder = Responder::start().await;
    let url = match column.responder {
        Some(_) => responder.url.as_str(),
        None => UNREACHABLE,
    };
    let identity = keys.server(&authority, &[url], column.must_staple);
    let mut staple = Vec::new();
    if let Some(status) = column.responder {
        let der = response(&authority, &identity, status, |response| {
            if delegated {
                response.signer = Signer::Delegate(&delegate);
            }
        });
        responder.set_response(der.clone());
        if column.staples {
            staple = der;
        }
    }
    let encrypted = Encrypted::stapling(&authority, &identity, staple).await;
    let trusting = encrypted.uri(&format!("tlsCAFile={}", encrypted.ca_file));
    let run = format!("{keys:?}, delegated: {delegated}");
    match column.rejection {
        None => ping(&trusting)
            .await
            .unwrap_or_else(|error| panic!("{run}: {error}")),
        Some(expected) => {
            let client = Client::connect(&trusting).await.expect("valid options");
            let text = wait_for_description(&client, |text| text.contains("(Unknown: ")).await;
            assert!(
                text.contains(expected) && text.contains("could not be encrypted"),
                "{run}: {text}"
            );
        }
    }
    // If the stapled response is conclusive, no responder is requested.
    if column.staples || column.must_staple {
        assert_eq!(responder.requests(), 0, "{run}");
    } else if column.responder.is_some() {
        assert!(responder.requests() > 0, "{run}");
    }
    let before = responder.requests();
    for relaxed in ["tlsInsecure=true", "tlsAllowInvalidCertificates=true"] {
        let relaxed = encrypted.uri(relaxed);
        ping(&relaxed)
            .await
            .unwrap_or_else(|error| panic!("{run}: {error}"));
    }
    assert_eq!(responder.requests(), before, "{run}");
}

#[tokio::test]
async fn ocsp_support_prose_matrix_test_1() {
    run(TEST_1).await;
}

#[tokio::test]
async fn ocsp_support_prose_matrix_test_2() {
    run(Column {
        responder: Some(Status::Revoked),
        rejection: Some("was revoked at"),
        ..TEST_1
    })
    .await;
}

#[tokio::test]
async fn ocsp_support_prose_matrix_test_3() {
    run(Column {
        staples: false,
        ..TEST_1
    })
    .await;
}

#[tokio::test]
async fn ocsp_support_prose_matrix_test_4() {
    run(Column {
        responder: Some(Status::Revoked),
        staples: false,
        rejection: Some("according to the OCSP responder http://127.0.0.1:"),
        ..TEST_1
    })
    .await;
}

#[tokio::test]
async fn ocsp_support_prose_matrix_soft_fail() {
    run(Column {
        responder: None,
        staples: false,
        ..TEST_1
    })
    .await;
}

#[tokio::test]
async fn ocsp_support_prose_matrix_malicious_server_1() {
    run(Column {
        responder: Some(Status::Revoked),
        staples: false,
        must_staple: true,
        rejection: Some("requires a stapled OCSP response"),
    })
    .await;
}

#[tokio::test]
async fn ocsp_support_prose_matrix_malicious_server_2() {
    run(Column {
        responder: None,
        staples: false,
        must_staple: true,
        rejection: Some("requires a stapled OCSP response"),
    })
    .await;
}
