//! Connections to key management services.

use std::{io, time::Duration};

use marula_driver::{
    EncryptionError, ErrorKind,
    encryption::{ClientEncryptionOptions, KmsConnect},
    options::TlsOptions,
};
use marula_driver_tests::{
    kms::KmsDouble,
    tls::{Authority, Identity},
};
use tokio::{io::DuplexStream, net::TcpStream};

use super::support::{NAMESPACE, Setup, master_key, providers};

async fn create_with(setup: &Setup, options: ClientEncryptionOptions) -> marula_driver::Result<()> {
    let encryption = setup.encryption_with(options);
    let key = master_key("aws").expect("a master key");
    encryption.create_data_key("aws").master_key(key).await.map(drop)
}

/// Prose test 10: an expired certificate, and one for another host.
pub(crate) async fn client_side_encryption_prose_10_certificates_are_checked() {
    let setup = Setup::new().await;
    let authority = Authority::new();
    let name = "kms.us-east-1.amazonaws.com";
    let identities: [(Identity, &str); 2] = [
        (authority.issue_expired(&[name]), "expired"),
        (authority.issue(&["wronghost.com"]), "not valid for name"),
    ];
    for (identity, part) in identities {
        let kms = KmsDouble::with_identity(&authority, &identity).await;
        let options = kms.configure(ClientEncryptionOptions::new(NAMESPACE, providers()));
        let error = create_with(&setup, options).await.expect_err(part);
        assert!(format!("{error:#}").contains(part), "{part}: {error:#}");
        assert!(kms.requests().is_empty());
    }
    // An authority that is not trusted.
    let options = ClientEncryptionOptions::new(NAMESPACE, providers()).kms_connect(setup.kms.connect());
    let error = create_with(&setup, options).await.expect_err("not trusted");
    assert!(format!("{error:#}").contains("UnknownIssuer"), "{error:#}");
}

/// Prose test 11: the KMIP server requires a client certificate, which is configured for each provider.
pub(crate) async fn client_side_encryption_prose_11_client_certificates_are_required() {
    let setup = Setup::new().await;
    let mut without = setup.kms.tls();
    without.certificate_key_file = None;
    for (tls, is_accepted) in [(without, false), (setup.kms.tls(), true)] {
        let options = setup.options(providers()).kms_tls("kmip", tls);
        let encryption = setup.encryption_with(options);
        let key = master_key("kmip").expect("a master key");
        let created = encryption.create_data_key("kmip").master_key(key).await;
        assert_eq!(created.is_ok(), is_accepted, "{created:?}");
        // The options of one provider do not change those of another.
        let key = master_key("aws").expect("a master key");
        encryption
            .create_data_key("aws")
            .master_key(key)
            .await
            .expect("a key");
    }
}

/// Prose test 24: one failure of the network or of the service is survived, four network failures are not.
pub(crate) async fn client_side_encryption_prose_24_transient_failures_are_retried() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    for provider in ["aws", "azure", "gcp"] {
        let create = || {
            encryption
                .create_data_key(provider)
                .master_key(master_key(provider).expect("a key"))
        };
        create().await.expect("a token, which is cached");
        setup.kms.fail_connections(1);
        create().await.expect(provider);
        setup.kms.fail_requests(1);
        create().await.expect(provider);
        setup.kms.fail_connections(4);
        let error = create().await.expect_err(provider);
        let ErrorKind::Encryption(EncryptionError::KmsConnection { endpoint, cause, .. }) = error.kind()
        else {
            panic!("{error:?}")
        };
        assert!(endpoint.ends_with(":443"), "{endpoint}");
        assert!(cause.is_network() && error.is_network(), "{cause}");
        setup.kms.fail_connections(0);
    }
}

/// Prose test 28: the application opens the connections; TLS is that of the driver, for the name of the service.
pub(crate) async fn client_side_encryption_prose_28_connections_are_opened_by_the_application() {
    let setup = Setup::new().await;
    let address = setup.kms.address;
    let calls = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let recorded = std::sync::Arc::clone(&calls);
    let connect = KmsConnect::new(move |host, port, time| {
        recorded.lock().expect("calls").push((host, port, time));
        let is_first = recorded.lock().expect("calls").len() == 1;
        async move {
            if is_first {
                return Err(io::Error::other("the proxy is busy"));
            }
            TcpStream::connect(address).await
        }
    });
    let options = setup
        .options(providers())
        .kms_connect(connect)
        .timeout(Duration::from_secs(30));
    create_with(&setup, options)
        .await
        .expect("the second call succeeds");
    let calls = calls.lock().expect("calls").clone();
    assert_eq!(calls.len(), 2, "{calls:?}");
    for (host, port, time) in calls {
        assert_eq!((host.as_str(), port), ("kms.us-east-1.amazonaws.com", 443));
        assert!(
            time.is_some_and(|time| time <= Duration::from_secs(30)),
            "{time:?}"
        );
    }
    let failing = KmsConnect::new(|_, _, _| async { Err::<TcpStream, _>(io::Error::other("no way")) });
    let error = create_with(&setup, setup.options(providers()).kms_connect(failing))
        .await
        .expect_err("no connection");
    assert!(format!("{error:#}").contains("no way"), "{error:#}");
}

pub(crate) async fn insecure_tls_options_are_rejected() {
    let setup = Setup::new().await;
    let with = |change: fn(&mut TlsOptions)| {
        let mut tls = setup.kms.tls();
        change(&mut tls);
        let options = setup.options(providers()).kms_tls("aws", tls);
        marula_driver::encryption::ClientEncryption::new(setup.client(), options)
    };
    for change in [
        (|tls: &mut TlsOptions| tls.insecure = Some(true)) as fn(&mut TlsOptions),
        |tls| tls.allow_invalid_certificates = Some(true),
        |tls| tls.allow_invalid_hostnames = Some(true),
        |tls| tls.disable_certificate_revocation_check = Some(true),
    ] {
        let error = with(change).expect_err("insecure");
        assert!(
            error.to_string().contains("Insecure TLS options prohibited"),
            "{error}"
        );
    }
    let error = with(|tls| tls.enabled = Some(false)).expect_err("no TLS");
    assert!(error.to_string().contains("TLS is required"), "{error}");
    with(|tls| tls.disable_ocsp_endpoint_check = Some(true)).expect("allowed");
}

/// The service accepts the connection and does not answer.
pub(crate) async fn a_silent_service_ends_with_the_time_limit() {
    let setup = Setup::new().await;
    let silent = KmsConnect::new(|_, _, _| async {
        let (stream, other): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
        // Kept open.
        std::mem::forget(other);
        Ok(stream)
    });
    let options = setup
        .options(providers())
        .kms_connect(silent)
        .timeout(Duration::from_millis(200));
    let error = create_with(&setup, options).await.expect_err("no answer");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert!(
        format!("{error:#}").contains("kms.us-east-1.amazonaws.com"),
        "{error:#}"
    );
}
