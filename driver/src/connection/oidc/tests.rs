//! Tests of the cache of access tokens and of its calls, on a paused clock.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Notify, mpsc};

use super::*;
use crate::{
    bson::{doc, to_vec},
    connection::MetadataServices,
    options::OidcCredential,
};

fn environment(variables: &'static [(&'static str, &'static str)]) -> LoginEnvironment {
    LoginEnvironment {
        variables: Arc::new(move |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }),
        services: MetadataServices::default(),
        #[cfg(feature = "aws-auth")]
        aws_cache: crate::connection::aws_auth::AwsCache::empty(),
        #[cfg(feature = "aws-auth")]
        sts_tls: Default::default(),
        #[cfg(feature = "gssapi")]
        dns: Arc::new(crate::connection::Resolver::default()),
    }
}

fn idp_info() -> IdpInfo {
    let payload = doc! { "issuer": "https://idp.example.com" };
    IdpInfo::parse(&to_vec(&payload).unwrap()).unwrap()
}

fn tokens(credential: &Credential) -> OidcTokens {
    OidcTokens::new(credential, environment(&[])).unwrap()
}

/// A callback that counts its calls, and the tokens of a client with it in the machine flow.
fn counting() -> (Arc<AtomicUsize>, OidcTokens) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let callback = OidcCallback::new(move |_| {
        let call = counter.fetch_add(1, Ordering::Relaxed);
        async move { Ok(OidcCredential::new(format!("token{call}"))) }
    });
    let credential = Credential::default().with_oidc_callback(callback);
    (calls, tokens(&credential))
}

async fn obtain(tokens: &OidcTokens, request: TokenRequest) -> Token {
    let deadline = Deadline::after(Some(Duration::from_secs(60)));
    tokens.obtain(request, deadline).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_token_is_cached_until_it_is_invalidated() {
    let (calls, tokens) = counting();
    let first = obtain(&tokens, TokenRequest::Stored).await;
    assert_eq!((first.text.expose(), first.source), ("token0", TokenSource::New));
    let again = obtain(&tokens, TokenRequest::Stored).await;
    assert_eq!(
        (again.text.expose(), again.source),
        ("token0", TokenSource::Cache)
    );
    // Another token is cached.
    tokens.invalidate(&Secret::new("other"));
    assert!(tokens.cached().is_some());
    let next = obtain(&tokens, TokenRequest::Replace(again)).await;
    assert_eq!((next.text.expose(), next.source), ("token1", TokenSource::New));
    // It was replaced by another connection meanwhile.
    let next = obtain(&tokens, TokenRequest::Replace(first)).await;
    assert_eq!((next.text.expose(), next.source), ("token1", TokenSource::Cache));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert!(!format!("{tokens:?}").contains("token1"));
}

#[tokio::test(start_paused = true)]
async fn calls_begin_100_ms_apart_and_one_at_a_time() {
    let (calls, tokens) = counting();
    let tokens = Arc::new(tokens);
    let began = Instant::now();
    let first = obtain(&tokens, TokenRequest::Stored).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let (tokens, first) = (Arc::clone(&tokens), first.clone());
            tokio::spawn(async move { obtain(&tokens, TokenRequest::Replace(first)).await })
        })
        .collect();
    for task in waiting {
        assert_eq!(task.await.unwrap().text.expose(), "token1");
    }
    assert!(began.elapsed() >= CALL_INTERVAL && began.elapsed() < 2 * CALL_INTERVAL);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_callback_is_dropped_at_its_deadline_and_the_next_call_succeeds() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&dropped);
    let calls = AtomicUsize::new(0);
    let callback = OidcCallback::new(move |_| {
        let hangs = calls.fetch_add(1, Ordering::Relaxed) == 0;
        let guard = Dropped(Arc::clone(&counter));
        async move {
            let _guard = guard;
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(OidcCredential::new("token"))
        }
    });
    let tokens = tokens(&Credential::default().with_oidc_callback(callback));
    let deadline = Deadline::after(Some(Duration::from_secs(3)));
    let outcome = tokens.obtain(TokenRequest::Stored, deadline).await;
    assert_eq!(outcome, Err(Missing::Elapsed));
    assert_eq!(obtain(&tokens, TokenRequest::Stored).await.text.expose(), "token");
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}

/// The deadline of the login that began a request is not that of another login that waits for its token.
#[tokio::test(start_paused = true)]
async fn a_login_outlives_the_request_that_another_login_began() {
    // Accepts connections in its queue, and does not reply.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut environment = environment(&[]);
    environment.services.azure = format!("http://{}", silent.local_addr().unwrap());
    let mut credential = Credential::default();
    credential.mechanism_properties = [("ENVIRONMENT", "azure"), ("TOKEN_RESOURCE", "db")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let tokens = OidcTokens::new(&credential, environment).unwrap();
    let began = Instant::now();
    let login = async |limit| {
        let limit = Duration::from_secs(limit);
        let outcome = tokens
            .obtain(TokenRequest::Stored, Deadline::at(began + limit))
            .await;
        assert_eq!(outcome, Err(Missing::Elapsed));
        assert!(began.elapsed() >= limit, "{:?}", began.elapsed());
    };
    tokio::join!(login(3), login(10));
}

#[tokio::test(start_paused = true)]
async fn a_person_has_five_minutes_whatever_the_deadline() {
    let callback = OidcCallback::new(|params| async move {
        assert_eq!(params.timeout, Duration::from_secs(300));
        std::future::pending().await
    });
    let tokens = tokens(&Credential::default().with_oidc_human_callback(callback));
    let began = Instant::now();
    let info = idp_info();
    let deadline = Deadline::after(Some(Duration::from_secs(1)));
    assert_eq!(tokens.obtain(TokenRequest::Stored, deadline).await, Ok(None));
    let Err(Missing::Failed(why)) = tokens.obtain(TokenRequest::Ask(info), deadline).await else {
        panic!("a token");
    };
    assert_eq!(why, SourceError::NoPerson);
    let seconds = began.elapsed().as_secs();
    assert!((300..302).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_refresh_token_is_used_until_its_access_token_is_rejected() {
    let callback = OidcCallback::new(|params| async move {
        let issuer = params.idp_info.as_ref().map(|info| info.issuer.clone());
        let refresh = params.refresh_token().unwrap_or("none").to_owned();
        let text = format!("{}-{refresh}", issuer.unwrap_or_default());
        Ok(OidcCredential::new(text).with_refresh_token("refresh"))
    });
    let tokens = tokens(&Credential::default().with_oidc_human_callback(callback));
    let info = idp_info();
    let first = obtain(&tokens, TokenRequest::Ask(info)).await;
    assert_eq!(
        (first.text.expose(), first.source),
        ("https://idp.example.com-none", TokenSource::New)
    );
    let second = obtain(&tokens, TokenRequest::Replace(first)).await;
    assert_eq!(
        (second.text.expose(), second.source),
        ("https://idp.example.com-refresh", TokenSource::Refresh)
    );
    let deadline = Deadline::NEVER;
    let third = tokens.obtain(TokenRequest::Replace(second), deadline).await;
    assert_eq!(third, Ok(None));
}

/// The tokens of a client whose callback of the human flow sends a message when it is called, and
/// returns after the notification.
fn waiting() -> (Arc<OidcTokens>, mpsc::UnboundedReceiver<()>, Arc<Notify>) {
    let (called, calls) = mpsc::unbounded_channel();
    let entered = Arc::new(Notify::new());
    let person = Arc::clone(&entered);
    let callback = OidcCallback::new(move |_| {
        let (called, person) = (called.clone(), Arc::clone(&person));
        async move {
            // Closed when the callback is dropped, which a test may wait for.
            called.send(())?;
            person.notified().await;
            Ok(OidcCredential::new("token").with_refresh_token("refresh"))
        }
    });
    let tokens = tokens(&Credential::default().with_oidc_human_callback(callback));
    (Arc::new(tokens), calls, entered)
}

#[tokio::test(start_paused = true)]
async fn a_dropped_login_does_not_end_the_call() {
    let (tokens, mut calls, entered) = waiting();
    let login = {
        let tokens = Arc::clone(&tokens);
        tokio::spawn(async move { obtain(&tokens, TokenRequest::Ask(idp_info())).await })
    };
    calls.recv().await.unwrap();
    login.abort();
    assert!(login.await.unwrap_err().is_cancelled());
    entered.notify_one();
    let token = obtain(&tokens, TokenRequest::Ask(idp_info())).await;
    assert_eq!((token.text.expose(), token.source), ("token", TokenSource::Cache));
    assert!(calls.try_recv().is_err(), "called once");
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_not_polled_does_not_delay_others() {
    let (tokens, mut calls, entered) = waiting();
    let kept = tokens.obtain(TokenRequest::Ask(idp_info()), Deadline::NEVER);
    let mut kept = Box::pin(kept);
    assert!(poll_once(&mut kept).await.is_pending());
    calls.recv().await.unwrap();
    entered.notify_one();
    let token = obtain(&tokens, TokenRequest::Ask(idp_info())).await;
    assert_eq!(token.text.expose(), "token");
    assert_eq!(kept.await.unwrap().unwrap().text.expose(), "token");
}

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context)))
        .await
}

#[tokio::test(start_paused = true)]
async fn the_call_ends_with_the_client() {
    let (tokens, mut calls, _entered) = waiting();
    let login = {
        let tokens = Arc::clone(&tokens);
        tokio::spawn(async move { obtain(&tokens, TokenRequest::Ask(idp_info())).await })
    };
    calls.recv().await.unwrap();
    login.abort();
    let _ = login.await;
    drop(tokens);
    // The callback has the only sender.
    assert_eq!(calls.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_one_login_does_not_fail_another() {
    let calls = AtomicUsize::new(0);
    let callback = OidcCallback::new(move |_| {
        let hangs = calls.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(OidcCredential::new("token"))
        }
    });
    let tokens = tokens(&Credential::default().with_oidc_callback(callback));
    let deadline = Deadline::after(Some(Duration::from_secs(3)));
    let (first, second) = tokio::join!(
        tokens.obtain(TokenRequest::Stored, deadline),
        tokens.obtain(TokenRequest::Stored, Deadline::NEVER),
    );
    assert_eq!(first, Err(Missing::Elapsed));
    assert_eq!(second.unwrap().unwrap().text.expose(), "token");
}

#[tokio::test(start_paused = true)]
async fn a_callback_of_the_machine_flow_has_a_minute_without_a_deadline() {
    let callback = OidcCallback::new(|params| async move {
        assert_eq!(params.timeout, Duration::from_secs(60));
        std::future::pending().await
    });
    let tokens = tokens(&Credential::default().with_oidc_callback(callback));
    let outcome = tokens.obtain(TokenRequest::Stored, Deadline::NEVER).await;
    let no_token = SourceError::NoToken(Duration::from_secs(60));
    assert_eq!(outcome, Err(Missing::Failed(no_token)));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_token_is_kept_if_another_login_has_replaced_it() {
    let calls = AtomicUsize::new(0);
    let callback = OidcCallback::new(move |_| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        let credential = OidcCredential::new(format!("access{call}"));
        async move { Ok(credential.with_refresh_token(format!("refresh{call}"))) }
    });
    let tokens = tokens(&Credential::default().with_oidc_human_callback(callback));
    let first = obtain(&tokens, TokenRequest::Ask(idp_info())).await;
    let second = obtain(&tokens, TokenRequest::Replace(first)).await;
    assert_eq!(
        (second.text.expose(), second.source),
        ("access1", TokenSource::Refresh)
    );
    // Another login obtains new tokens before the server rejects this one.
    tokens.invalidate(&second.text);
    let third = obtain(&tokens, TokenRequest::Ask(idp_info())).await;
    assert_eq!(third.text.expose(), "access2");
    tokens.invalidate(&third.text);
    let next = obtain(&tokens, TokenRequest::Replace(second)).await;
    assert_eq!(
        (next.text.expose(), next.source),
        ("access3", TokenSource::Refresh)
    );
}

#[tokio::test]
async fn a_callback_that_panics_is_an_error() {
    let callback = OidcCallback::new(|_| async { panic!("a defect of the application") });
    let tokens = tokens(&Credential::default().with_oidc_callback(callback));
    let Err(Missing::Failed(error)) = tokens.obtain(TokenRequest::Stored, Deadline::NEVER).await else {
        panic!("a token");
    };
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[tokio::test]
async fn errors_of_callbacks_and_empty_tokens_are_errors() {
    let failing = OidcCallback::new(|_| async { Err("no network".into()) });
    let empty = OidcCallback::new(|_| async { Ok(OidcCredential::new("")) });
    for (callback, why) in [
        (failing, "the callback failed: no network"),
        (empty, "an empty access token"),
    ] {
        let tokens = tokens(&Credential::default().with_oidc_callback(callback));
        let Err(Missing::Failed(error)) = tokens.obtain(TokenRequest::Stored, Deadline::NEVER).await else {
            panic!("a token");
        };
        let error = error.to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn hosts_match_names_and_domains() {
    let patterns = ["*.mongodb.net", "localhost", "::1", "DB.example.com"].map(str::to_owned);
    for (host, expected) in [
        ("a.mongodb.net", true),
        ("a.b.mongodb.net", true),
        ("A.MongoDB.net.", true),
        ("mongodb.net", false),
        (".mongodb.net", false),
        ("evilmongodb.net", false),
        ("a.mongodb.net.evil.com", false),
        ("localhost", true),
        ("::1", true),
        ("127.0.0.1", false),
        ("db.example.com", true),
        ("x.db.example.com", false),
        ("fe80::1%evil.mongodb.net", false),
        ("/tmp/x.mongodb.net", false),
    ] {
        assert_eq!(host_pattern::matches(host, &patterns), expected, "{host}");
    }
    assert!(!host_pattern::matches("localhost", &[]));
    for host in ["localhost", "127.0.0.1", "::1", "cluster0.abcde.mongodb.net"] {
        assert!(
            host_pattern::matches(host, &DEFAULT_ALLOWED_HOSTS.map(str::to_owned)),
            "{host}"
        );
    }
}

/// The future of a call that has ended may still be polled on another thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_callback_does_not_begin_while_one_that_was_ended_is_polled() {
    let (entered, mut entries) = mpsc::unbounded_channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(Some(released));
    let running = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&running);
    let callback = OidcCallback::new(move |_| {
        let (entered, counter) = (entered.clone(), Arc::clone(&counter));
        let released = released.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            entered.send(counter.fetch_add(1, Ordering::SeqCst)).unwrap();
            if let Some(released) = released {
                // Blocks the thread, as a callback must not do for long.
                let _ = released.recv();
            }
            counter.fetch_sub(1, Ordering::SeqCst);
            Ok(OidcCredential::new("token"))
        }
    });
    let tokens = Arc::new(tokens(&Credential::default().with_oidc_callback(callback)));
    let login = || {
        let tokens = Arc::clone(&tokens);
        tokio::spawn(async move { obtain(&tokens, TokenRequest::Stored).await })
    };
    let first = login();
    assert_eq!(entries.recv().await, Some(0));
    first.abort();
    let _ = first.await;
    let second = login();
    // Longer than the interval between two calls.
    let begun = tokio::time::timeout(3 * CALL_INTERVAL, entries.recv()).await;
    assert!(begun.is_err(), "the callback runs twice");
    release.send(()).unwrap();
    assert_eq!(second.await.unwrap().text.expose(), "token");
    assert_eq!(running.load(Ordering::SeqCst), 0);
}
