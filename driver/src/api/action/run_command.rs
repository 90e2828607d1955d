//! `run_command`.

use super::{Deferred, awaitable};
use crate::{
    Database, Result,
    bson::{Document, IntoDocument, RawDocumentBuf},
    operation::run_command,
    types::read_preference::{PRIMARY, ReadPreference},
};

/// Runs any command. Await it for the whole reply; see [`Database::run_command`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct RunCommand<'a> {
    database: &'a Database,
    command: RawDocumentBuf,
    read_preference: Option<ReadPreference>,
    deferred: Deferred,
}

impl<'a> RunCommand<'a> {
    pub(crate) fn new(database: &'a Database, command: impl IntoDocument) -> Self {
        let mut deferred = Deferred::default();
        Self {
            database,
            command: deferred.document("command", command),
            read_preference: None,
            deferred,
        }
    }

    /// Which member runs the command; the primary unless this is set, whatever the database's preference.
    pub fn read_preference(mut self, preference: ReadPreference) -> Self {
        self.deferred
            .check(preference.validate().map_err(crate::Error::invalid_argument));
        self.read_preference = Some(preference);
        self
    }

    async fn run(self) -> Result<Document> {
        self.deferred.into_result()?;
        let mut operation = run_command::RunCommand {
            database: self.database.name(),
            command: &self.command,
            read_preference: self.read_preference.as_ref().unwrap_or(PRIMARY),
            implicit_session: true,
        };
        self.database.client().executor().run(&mut operation).await
    }
}

awaitable!(['a] RunCommand<'a> => Document);
