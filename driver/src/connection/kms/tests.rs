//! Requests to key management services, on a paused clock. Those that need libmongocrypt do nothing without it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use marula_mongocrypt::{Context, Crypt, CryptOptions, DataKeyOptions, Library};
use tokio::{io::DuplexStream, time::Instant};

use super::*;
use crate::{
    ErrorKind,
    bson::{doc, rawdoc},
    connection::Resolver,
    options::encryption::KmsProviders,
};

#[test]
fn endpoints_are_split() {
    assert_eq!(split("kms.example.com:443"), Some(("kms.example.com", 443)));
    assert_eq!(split("[::1]:5696"), Some(("::1", 5696)));
    for text in ["", "a", ":1", "a:", "a:x", "a:70000"] {
        assert_eq!(split(text), None, "{text}");
    }
}

/// The creation of a data key, as far as the request to AWS. `None` without libmongocrypt.
fn creation() -> Option<(EncryptionSettings, Context)> {
    let library = match Library::load(None) {
        Ok(library) => library,
        Err(error) if std::env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_some() => panic!("{error}"),
        Err(_) => return None,
    };
    let providers =
        KmsProviders::new().with("aws", doc! { "accessKeyId": "id", "secretAccessKey": "secret" });
    let options = CryptOptions {
        kms_providers: providers.document().unwrap(),
        ..CryptOptions::default()
    };
    let key = rawdoc! { "provider": "aws", "region": "us-east-1", "key": "arn:aws:kms:us-east-1:1:key/1" };
    let context = Crypt::new(library, &options)
        .unwrap()
        .create_data_key(&DataKeyOptions {
            key_encryption_key: key.as_bytes(),
            ..DataKeyOptions::default()
        })
        .unwrap();
    Some((
        EncryptionSettings::new("encryption.keys".to_owned(), providers),
        context,
    ))
}

/// A transport whose connections accept all bytes and answer nothing, and the number of connections.
fn silent(mut settings: EncryptionSettings) -> (KmsTransport, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let open = Mutex::new(Vec::<DuplexStream>::new());
    settings.connect = Some(KmsConnect::new(move |_, _, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        open.lock().unwrap().push(theirs);
        async move { Ok(ours) }
    }));
    let transport = KmsTransport::new(&settings, Dialer::default(), Arc::new(Resolver::default()));
    (transport.unwrap(), connections)
}

/// Performs the requests, as the engine does.
async fn perform(transport: &KmsTransport, context: &mut Context, deadline: Deadline) -> Result<()> {
    while let Some(mut request) = context.next_kms() {
        transport.exchange(&mut request, deadline).await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_an_answer_ends_after_10_s_and_is_repeated_three_times() {
    let Some((settings, mut context)) = creation() else {
        return;
    };
    let (transport, connections) = silent(settings);
    let began = Instant::now();
    let error = perform(&transport, &mut context, Deadline::NEVER)
        .await
        .unwrap_err();
    let ErrorKind::Encryption(EncryptionError::KmsConnection { endpoint, .. }) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(endpoint, "kms.us-east-1.amazonaws.com:443");
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 4);
    assert!(began.elapsed() >= 4 * TIME_LIMIT, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_the_operation_ends_the_attempts() {
    let Some((settings, mut context)) = creation() else {
        return;
    };
    let (transport, connections) = silent(settings);
    let began = Instant::now();
    let limit = Duration::from_secs(15);
    let deadline = Deadline::after(Some(limit));
    let error = perform(&transport, &mut context, deadline).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    let elapsed = began.elapsed();
    assert!(elapsed >= limit && elapsed < 2 * TIME_LIMIT, "{elapsed:?}");
}
