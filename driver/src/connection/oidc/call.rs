//! The call of a callback or an environment: a task of its own, whose outcome all logins that wait
//! for a token share. A call of the machine flow ends with the last login that waits for it. One of the human flow does
//! not: a person may be entering a password.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{
    CALL_INTERVAL, Cache, HUMAN_TIME_LIMIT, MACHINE_TIME_LIMIT, Missing, Provider, Refresh, Result, Stored,
};
use crate::{
    connection::source_error::SourceError,
    options::{OidcCallback, OidcCallbackParams, OidcCredential},
    proto::auth::{IdpInfo, Token, TokenSource},
    types::{deadline::Deadline, secret::Secret},
};

/// What a call is made with.
pub(super) enum Request {
    /// With a deadline, if `timeoutMS` applies.
    Machine(Deadline),
    Human {
        idp_info: Option<IdpInfo>,
        refresh: Option<Secret>,
    },
}

/// `None` until the call ends.
pub(super) type Outcome = watch::Receiver<Option<Result<Token>>>;

/// A call. Dropping it ends the call.
pub(super) struct Call {
    outcome: Outcome,
    task: AbortHandle,
    /// The number of logins that wait for the outcome.
    waiting: usize,
    /// The call goes on without a login that waits.
    is_kept: bool,
}

impl Call {
    pub(super) fn spawn(cache: Arc<Cache>, request: Request, runtime: &Handle) -> Self {
        let (sender, outcome) = watch::channel(None);
        let is_kept = matches!(request, Request::Human { .. });
        let task = runtime.spawn(async move {
            let result = cache.call(request).await;
            // Without an effect if no login waits any longer.
            sender.send_replace(Some(result));
        });
        Self {
            outcome,
            task: task.abort_handle(),
            waiting: 0,
            is_kept,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        // A call whose runtime ended has no outcome, and has closed the channel.
        self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok()
    }

    /// Another login waits. [`leave`] must be called when it does no longer.
    pub(super) fn join(&mut self) -> Outcome {
        self.waiting += 1;
        self.outcome.clone()
    }
}

/// A login does not wait for a call any longer. Removes the call if nothing needs it.
pub(super) fn leave(call: &mut Option<Call>, outcome: &Outcome) {
    let Some(joined) = call.as_mut().filter(|call| call.outcome.same_channel(outcome)) else {
        return;
    };
    joined.waiting = joined.waiting.saturating_sub(1);
    // The outcome of one that has ended contains its token.
    if joined.waiting == 0 && !(joined.is_kept && joined.is_running()) {
        *call = None;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for the end of a call.
pub(super) async fn end(outcome: &mut Outcome) -> Result<Token> {
    let ended = outcome.wait_for(Option::is_some).await;
    let result = ended.ok().and_then(|outcome| outcome.clone());
    result.unwrap_or_else(|| {
        Err(Missing::Failed(SourceError::Application {
            what: "the callback",
            cause: "the client was shut down, or its runtime ended".to_owned(),
        }))
    })
}

impl Cache {
    async fn call(&self, request: Request) -> Result<Token> {
        let mut last_call = self.last_call.lock().await;
        if let Some(last) = *last_call {
            sleep_until(last + CALL_INTERVAL).await;
        }
        *last_call = Some(Instant::now());
        match request {
            Request::Machine(deadline) => {
                let limit = match deadline.remaining() {
                    Some(_) => deadline,
                    None => Deadline::after(Some(MACHINE_TIME_LIMIT)),
                };
                match limit.run(self.machine(limit)).await {
                    // An environment has the same limit, and may see its end first. It is not the deadline of the other
                    // logins that wait.
                    Ok(Err(Missing::Failed(cause))) if cause.is_late() && deadline.remaining().is_some() => {
                        Err(Missing::Elapsed)
                    }
                    Ok(token) => token,
                    Err(_) if deadline.remaining().is_some() => Err(Missing::Elapsed),
                    Err(_) => Err(Missing::Failed(SourceError::NoToken(MACHINE_TIME_LIMIT))),
                }
            }
            Request::Human { idp_info, refresh } => self.human(idp_info, refresh).await,
        }
    }

    async fn machine(&self, limit: Deadline) -> Result<Token> {
        let text = match &self.provider {
            Provider::Environment(environment) => {
                let token = environment.token(&self.environment, limit).await;
                token.map_err(Missing::Failed)?
            }
            Provider::Machine(callback) | Provider::Human(callback, _) => {
                let timeout = limit.remaining().unwrap_or(Duration::MAX);
                let params = OidcCallbackParams::new(timeout, self.username.clone(), None, None);
                run(callback, params).await?.access_token
            }
        };
        self.stored().access = Some(text.clone());
        let source = TokenSource::New;
        Ok(Token { text, source })
    }

    async fn human(&self, idp_info: Option<IdpInfo>, refresh: Option<Secret>) -> Result<Token> {
        let (Provider::Human(callback, _) | Provider::Machine(callback)) = &self.provider else {
            return Err(Missing::Failed(SourceError::NoPerson));
        };
        let source = match refresh {
            Some(_) => TokenSource::Refresh,
            None => TokenSource::New,
        };
        let username = self.username.clone();
        let params = OidcCallbackParams::new(HUMAN_TIME_LIMIT, username, idp_info.clone(), refresh);
        let limit = Deadline::after(Some(HUMAN_TIME_LIMIT));
        let credential = limit.run(run(callback, params)).await;
        let credential = credential.map_err(|_| Missing::Failed(SourceError::NoPerson))??;
        let text = credential.access_token;
        *self.stored() = Stored {
            access: Some(text.clone()),
            refresh: credential.refresh_token.map(|refresh| Refresh {
                text: refresh,
                access: text.clone(),
            }),
            idp_info,
        };
        Ok(Token { text, source })
    }
}

async fn run(callback: &OidcCallback, params: OidcCallbackParams) -> Result<OidcCredential> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Missing::Failed(SourceError::Application {
            what: "the callback",
            cause: error.to_string(),
        })
    };
    let credential = callback.call(params).await.map_err(failed)?;
    if credential.access_token.expose().is_empty() {
        return Err(Missing::Failed(SourceError::EmptyToken));
    }
    Ok(credential)
}
