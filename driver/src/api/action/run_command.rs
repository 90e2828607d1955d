//! `run_command`.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::{Deferred, InSession, awaitable, session_setter};
use crate::{
    Database, Result,
    bson::{Document, IntoDocument, RawDocumentBuf},
    operation::run_command,
    types::read_preference::{PRIMARY, ReadPreference},
};

/// Runs any command. Await it for the whole reply; see [`Database::run_command`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct RunCommand<'a, T = Document> {
    database: &'a Database,
    command: RawDocumentBuf,
    read_preference: Option<ReadPreference>,
    deferred: Deferred,
    reply: PhantomData<fn() -> T>,
    session: InSession<'a>,
}

impl<'a> RunCommand<'a> {
    pub(crate) fn new(database: &'a Database, command: impl IntoDocument) -> Self {
        let mut deferred = Deferred::default();
        Self {
            database,
            command: deferred.document("command", command),
            read_preference: None,
            deferred,
            reply: PhantomData,
            session: None,
        }
    }
}

impl<'a, T: DeserializeOwned + 'static> RunCommand<'a, T> {
    /// Decodes the reply as `U`: a struct with the fields that matter, or a
    /// [`RawDocumentBuf`](crate::bson::RawDocumentBuf) to decode nothing.
    pub fn with_type<U>(self) -> RunCommand<'a, U> {
        RunCommand {
            database: self.database,
            command: self.command,
            read_preference: self.read_preference,
            deferred: self.deferred,
            reply: PhantomData,
            session: self.session,
        }
    }

    /// Which member runs the command; the primary unless this is set, whatever the database's preference.
    pub fn read_preference(mut self, preference: ReadPreference) -> Self {
        self.deferred
            .check(preference.validate().map_err(crate::Error::invalid_argument));
        self.read_preference = Some(preference);
        self
    }

    session_setter!();

    async fn run(&mut self) -> Result<T> {
        self.deferred.take_result()?;
        let mut operation = run_command::RunCommand {
            database: self.database.name(),
            command: &self.command,
            read_preference: self.read_preference.as_ref().unwrap_or(PRIMARY),
            implicit_session: true,
            reply: PhantomData,
        };
        self.database
            .client()
            .executor()
            .run_in(self.session, &mut operation)
            .await
    }
}

awaitable!(in place ['a, T: DeserializeOwned + 'static] RunCommand<'a, T> => T);
