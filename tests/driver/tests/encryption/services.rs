//! Connections to key management services.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use marula_driver::{
    EncryptionError, ErrorKind,
    bson::{Document, doc},
    encryption::{ClientEncryptionOptions, EncryptionAlgorithm, KmsConnect},
    options::TlsOptions,
};
use marula_driver_tests::{
    kms::KmsDouble,
    tls::{Authority, Identity},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    net::TcpStream,
};

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
        for fail in [KmsDouble::fail_connections, KmsDouble::fail_requests] {
            fail(&setup.kms, 1);
            let key = create().await.expect(provider);
            // The service decrypts the key.
            let asked = setup.kms.requests().len();
            fail(&setup.kms, 1);
            let encrypt = encryption.encrypt(&123_i32, key, EncryptionAlgorithm::Deterministic);
            encrypt.await.expect(provider);
            assert!(setup.kms.requests().len() > asked, "{provider}");
        }
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
    // The default, written out.
    with(|tls| tls.insecure = Some(false)).expect("allowed");
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
        .timeout(Duration::from_secs(1));
    let error = create_with(&setup, options).await.expect_err("no answer");
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    assert!(
        format!("{error:#}").contains("kms.us-east-1.amazonaws.com"),
        "{error:#}"
    );
}

/// Where a function of the application panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Call,
    Future,
    Read,
    Write,
    /// The destructor of the stream.
    Drop,
}

/// A stream that panics in one place.
struct Panicking {
    stream: TcpStream,
    place: Place,
}

impl Panicking {
    fn stream(&mut self, place: Place) -> Pin<&mut TcpStream> {
        assert!(self.place != place, "a defect of the application");
        Pin::new(&mut self.stream)
    }
}

impl AsyncRead for Panicking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream(Place::Read).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Panicking {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream(Place::Write).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(Place::Call).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(Place::Call).poll_shutdown(cx)
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        assert!(self.place != Place::Drop, "a defect of the application");
    }
}

/// A function that opens connections to this address, and panics there. Its calls are counted.
fn panicking(setup: &Setup, place: Place, calls: &Arc<AtomicUsize>) -> KmsConnect {
    let (address, calls) = (setup.kms.address, Arc::clone(calls));
    KmsConnect::new(move |_, _, _| {
        calls.fetch_add(1, Ordering::SeqCst);
        assert!(place != Place::Call, "a defect of the application");
        async move {
            assert!(place != Place::Future, "a defect of the application");
            let stream = TcpStream::connect(address).await?;
            Ok(Panicking { stream, place })
        }
    })
}

/// A panic of the function of the application, or of its stream, does not reach the caller, and the request is not repeated.
pub(crate) async fn a_panic_of_the_application_is_an_error_that_names_the_provider() {
    let setup = Setup::new().await;
    for place in [Place::Call, Place::Future, Place::Read, Place::Write] {
        let calls = Arc::default();
        let options = setup.options(providers());
        let options = options.kms_connect(panicking(&setup, place, &calls));
        let error = create_with(&setup, options).await.expect_err("a panic");
        let ErrorKind::Encryption(EncryptionError::KmsConnectPanicked { provider, endpoint }) = error.kind()
        else {
            panic!("{place:?}: {error:?}");
        };
        assert_eq!(
            (provider.as_str(), endpoint.as_str()),
            ("aws", "kms.us-east-1.amazonaws.com:443")
        );
        let text = error.to_string();
        assert!(text.contains("KmsConnect") && text.contains("panicked"), "{text}");
        assert!(!error.is_network() && !error.is_unavailable(), "{error:?}");
        assert_eq!(calls.load(Ordering::SeqCst), 1, "{place:?}");
    }
    // Nothing depends on the destructor.
    let calls = Arc::default();
    let options = setup.options(providers());
    let options = options.kms_connect(panicking(&setup, Place::Drop, &calls));
    create_with(&setup, options).await.expect("a key");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// A client that can write to the key vault must not get the access tokens of a provider.
pub(crate) async fn requests_are_not_sent_to_a_host_that_only_the_key_vault_names() {
    let setup = Setup::new().await;
    for (provider, field) in [
        ("aws", "endpoint"),
        ("azure", "keyVaultEndpoint"),
        ("gcp", "endpoint"),
        ("kmip", "endpoint"),
    ] {
        let encryption = setup.encryption();
        let key = master_key(provider).expect("a master key");
        let id = encryption
            .create_data_key(provider)
            .master_key(key)
            .await
            .expect("a key");
        let encrypted = encryption
            .encrypt("a value", id, EncryptionAlgorithm::Deterministic)
            .await;
        encrypted.expect("encrypted");
        let path = format!("masterKey.{field}");
        let change = doc! { "$set": { path: "kms.us-east-1.amazonaws.com.evil.example:443" } };
        let vault = setup
            .client()
            .database("encryption")
            .collection::<Document>("keys");
        vault
            .update_one(doc! { "keyMaterial": { "$exists": true } }, &change)
            .await
            .expect("changed");
        let requests = setup.kms.requests().len();
        // The other object has no cached key.
        let other = setup.encryption();
        let error = other
            .encrypt("a value", id, EncryptionAlgorithm::Deterministic)
            .await;
        let error = error.expect_err(provider);
        let ErrorKind::Encryption(EncryptionError::KmsHostNotAllowed {
            provider: named,
            endpoint,
        }) = error.kind()
        else {
            panic!("{provider}: {error:?}");
        };
        assert_eq!(named, provider);
        assert!(endpoint.contains("evil.example"), "{endpoint}");
        // At most an access token was obtained, from the host of the provider.
        let sent = setup.kms.requests().split_off(requests);
        assert!(
            sent.iter().all(|request| request.operation.contains("token")),
            "{sent:?}"
        );
        vault.delete_many(doc! {}).await.expect("deleted");
    }
}
