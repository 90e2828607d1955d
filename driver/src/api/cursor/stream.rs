//! Reading a [`Cursor`] as a [`Stream`].

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use futures_core::{FusedStream, Stream};
use serde::de::DeserializeOwned;

use super::{
    super::command_task::{CommandTask, Ending},
    Cursor,
    state::State,
};
use crate::{Result, operation::decode_owned};

/// The output is the state, and the result of the getMore unless it was cancelled.
pub(super) type Fetching = CommandTask<(Box<State>, Option<Result<()>>)>;

impl<T: DeserializeOwned + 'static> Stream for Cursor<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match ready!(self.poll_advance(cx)) {
            Ok(true) => Some(self.current_bytes().and_then(decode_owned)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

impl<T> Cursor<T> {
    /// Waits for the getMore that was started when the cursor was read as a stream. Returns `false`
    /// if there is none.
    pub(super) async fn finish_fetching(&mut self) -> Result<bool> {
        if self.fetching.is_none() {
            return Ok(false);
        }
        poll_fn(|cx| self.poll_fetching(cx)).await?;
        Ok(true)
    }

    fn poll_fetching(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(fetching) = &mut self.fetching else {
            return Poll::Ready(Ok(()));
        };
        let completed = ready!(fetching.poll(cx));
        self.fetching = None;
        let (state, result) = completed?;
        self.state = Some(state);
        Poll::Ready(result.unwrap_or(Ok(())))
    }

    /// Cancels the getMore of the stream. The returned value must be dropped after the cursor is closed.
    pub(super) async fn cancel_fetching(&mut self) -> Option<Ending> {
        let fetching = self.fetching.take()?;
        // The runtime that would send killCursors may have been shut down.
        let ((state, _), ending) = fetching.cancel().await.ok()?;
        self.state = Some(state);
        ending
    }

    /// As [`advance`](Self::advance). The cursor owns a running getMore, so no batch is lost if the
    /// cursor is not polled again for some time.
    pub(in crate::api) fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool>> {
        loop {
            ready!(self.poll_fetching(cx))?;
            let Some(state) = &mut self.state else {
                return Poll::Ready(Ok(false));
            };
            if state.advance_in_batch()? {
                return Poll::Ready(Ok(true));
            }
            if state.is_exhausted() {
                return Poll::Ready(Ok(false));
            }
            if let Some(mut state) = self.state.take() {
                let client = state.client().clone();
                self.fetching = Some(CommandTask::spawn(&client, |cancelled| async move {
                    let (result, ending) = cancelled.or(pin!(state.fetch())).await;
                    ((state, result), ending)
                }));
            }
        }
    }
}

impl<T: DeserializeOwned + 'static> FusedStream for Cursor<T> {
    fn is_terminated(&self) -> bool {
        self.is_exhausted()
    }
}
