//! Calls outside of the transaction whose body makes them: a call without the session of the transaction escapes it.
//!
//! The body of a transaction is polled with a value in a variable of the thread, which the calls of the same task
//! read, also within `join!` and `select!`. Without such a body, a call reads the variable and nothing else.

use std::{cell::Cell, future::poll_fn, pin::pin};

use super::Executor;
use crate::{Error, Result, telemetry};

thread_local! {
    static BODY: Cell<Option<Body>> = const { Cell::new(None) };
}

/// The treatment of calls outside of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    /// The first of a run is logged.
    Warn,
    /// Each is an error.
    Refuse,
}

/// The body of a transaction that is being polled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    /// The address of the executor of its client.
    client: usize,
    reaction: Reaction,
    has_warned: bool,
    /// The client of a strict transaction whose body polls this one.
    strict_around: Option<usize>,
}

/// A call of the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallName<'a> {
    /// The command, or the call that sends several.
    pub(crate) operation: &'static str,
    pub(crate) database: &'a str,
    pub(crate) collection: Option<&'a str>,
}

impl Body {
    /// The body of a transaction of a client. `None` if its calls are not observed: they are in strict transactions, and
    /// in debug builds with the feature `tracing`.
    pub(crate) fn observed(executor: &Executor, is_strict: bool) -> Option<Self> {
        let reaction = if is_strict {
            Reaction::Refuse
        } else if cfg!(all(debug_assertions, feature = "tracing")) {
            Reaction::Warn
        } else {
            return None;
        };
        Some(Self {
            client: address(executor),
            reaction,
            has_warned: false,
            strict_around: None,
        })
    }

    /// The body while another one polls it, whose strict transaction still refuses calls outside of it.
    fn within(self, outer: Option<Self>) -> Self {
        let strict_around = outer.and_then(|outer| match outer.reaction {
            Reaction::Refuse => Some(outer.client),
            Reaction::Warn => outer.strict_around,
        });
        Self {
            strict_around,
            ..self
        }
    }

    /// Awaits the future of the body, and observes the calls that it makes.
    pub(crate) async fn observe<F: Future>(body: &mut Option<Self>, future: F) -> F::Output {
        if body.is_none() {
            // The body of another transaction may be polling this one.
            return future.await;
        }
        within(body, future).await
    }
}

/// Awaits a future whose calls are outside of the transaction that runs in the same task, on purpose: they are neither
/// logged nor refused.
///
/// A call without the session of a running transaction is logged with the feature `tracing` in debug builds, and refused in
/// a [strict](crate::action::TransactionSettings::strict) transaction, because a forgotten session is a mistake that
/// nothing else reports. This function says that it is none: an entry of a log that remains if the transaction is aborted,
/// or a read of data that the transaction does not protect.
///
/// ```no_run
/// # use marula_driver::{Client, Result, bson::{Document, doc}, outside_transaction};
/// # async fn run(client: Client) -> Result<()> {
/// let shop = client.database("shop");
/// let (orders, attempts) = (shop.collection::<Document>("orders"), shop.collection::<Document>("attempts"));
/// client
///     .transaction()
///     .strict()
///     .run(async |tx| {
///         let orders = tx.bind(&orders);
///         // Remains if the transaction is aborted.
///         outside_transaction(attempts.insert_one(&doc! { "order": 1 })).await?;
///         orders.insert_one(&doc! { "_id": 1 }).await
///     })
///     .await?;
/// # Ok(()) }
/// ```
pub async fn outside_transaction<F: IntoFuture>(call: F) -> F::Output {
    within(&mut None, call.into_future()).await
}

/// Awaits a future with this value in the variable of the thread.
async fn within<F: Future>(body: &mut Option<Body>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(move |context| {
        let _entered = Entered::new(body);
        future.as_mut().poll(context)
    })
    .await
}

/// The value is in the variable of the thread.
struct Entered<'a> {
    body: &'a mut Option<Body>,
    outer: Option<Body>,
}

impl<'a> Entered<'a> {
    fn new(body: &'a mut Option<Body>) -> Self {
        let outer = BODY.get();
        BODY.set(body.map(|body| body.within(outer)));
        Self { body, outer }
    }
}

impl Drop for Entered<'_> {
    /// Restores the value before, and keeps whether a warning was logged.
    fn drop(&mut self) {
        *self.body = BODY.replace(self.outer);
    }
}

fn address(executor: &Executor) -> usize {
    std::ptr::from_ref(executor).addr()
}

impl Executor {
    /// To be called for a call without an explicit session: it is not part of the transaction whose body makes it.
    ///
    /// # Errors
    /// The transaction is strict.
    #[inline]
    pub(crate) fn check_outside(&self, call: CallName<'_>) -> Result<()> {
        match BODY.get() {
            None => Ok(()),
            Some(body) => self.notice_outside(body, call),
        }
    }

    #[cold]
    fn notice_outside(&self, mut body: Body, call: CallName<'_>) -> Result<()> {
        let own = address(self);
        let reaction = if body.strict_around == Some(own) {
            Reaction::Refuse
        } else if body.client == own {
            body.reaction
        } else {
            return Ok(());
        };
        match reaction {
            Reaction::Refuse => Err(Error::invalid_argument(format!(
                "the call is not part of the transaction that is running; {HINT}"
            ))
            .with_operation(call.operation, call.database, call.collection)),
            Reaction::Warn => {
                if !body.has_warned {
                    body.has_warned = true;
                    BODY.set(Some(body));
                    telemetry::call_outside_transaction(call.operation, call.database, call.collection, HINT);
                }
                Ok(())
            }
        }
    }
}

/// The advice for a call outside of a transaction.
const HINT: &str = "use a handle that tx.bind(..) returns, or pass tx to .session(..); a call that is meant to be outside \
                    of the transaction is awaited with outside_transaction(..)";

/// The error of a call that the server does not run in a transaction, on a handle that is bound to one.
#[cold]
pub(crate) fn refuse_bound(call: CallName<'_>) -> Error {
    Error::invalid_argument(
        "the handle is bound to a transaction, and the call cannot be part of one; use the handle that it was bound from",
    )
    .with_operation(call.operation, call.database, call.collection)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(client: usize) -> Option<Body> {
        Some(Body {
            client,
            reaction: Reaction::Warn,
            has_warned: false,
            strict_around: None,
        })
    }

    fn current() -> Option<usize> {
        BODY.get().map(|body| body.client)
    }

    #[tokio::test]
    async fn a_body_is_current_only_while_it_is_polled() {
        let (mut first, mut second) = (body(1), body(2));
        let of_first = within(&mut first, async {
            assert_eq!(current(), Some(1));
            tokio::task::yield_now().await;
            assert_eq!(current(), Some(1), "also when it is polled again");
            assert_eq!(outside_transaction(async { current() }).await, None);
            let nested = within(&mut second, async {
                tokio::task::yield_now().await;
                current()
            });
            assert_eq!(nested.await, Some(2));
            assert_eq!(current(), Some(1));
        });
        let beside = async {
            assert_eq!(current(), None);
            tokio::task::yield_now().await;
            assert_eq!(current(), None);
        };
        tokio::join!(of_first, beside);
        assert_eq!(current(), None);
    }

    #[tokio::test]
    async fn a_strict_transaction_is_known_within_others() {
        let mut strict = body(1).map(|body| Body {
            reaction: Reaction::Refuse,
            ..body
        });
        let around = || BODY.get().and_then(|body| body.strict_around);
        within(&mut strict, async {
            assert_eq!(around(), None);
            within(&mut body(2), async {
                assert_eq!(around(), Some(1));
                within(&mut body(3), async { assert_eq!(around(), Some(1)) }).await;
                assert_eq!(outside_transaction(async { around() }).await, None);
            })
            .await;
        })
        .await;
    }

    #[tokio::test]
    async fn a_panic_of_the_body_and_a_dropped_future_restore_the_variable() {
        let panicking = tokio::spawn(async {
            let mut body = body(1);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut polled = pin!(within(&mut body, async { panic!("in the body") }));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                let _: std::task::Poll<()> = polled.as_mut().poll(&mut context);
            }));
            assert!(caught.is_err());
            current()
        });
        assert_eq!(panicking.await.unwrap(), None);
        let mut dropped = body(1);
        tokio::select! {
            biased;
            () = within(&mut dropped, std::future::pending()) => {}
            () = async {} => {}
        }
        assert_eq!(current(), None);
    }

    #[tokio::test]
    async fn a_body_remembers_its_warning() {
        let mut body = body(1);
        within(&mut body, async {
            BODY.set(BODY.get().map(|body| Body {
                has_warned: true,
                ..body
            }));
        })
        .await;
        assert!(body.is_some_and(|body| body.has_warned));
    }
}
