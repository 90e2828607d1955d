//! A command given by the application: [`Database::run_command`] ([Run Command]).
//!
//! [Run Command]:
//! https://github.com/mongodb/specifications/blob/master/source/run-command/run-command.md

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession, awaitable,
    declare::{define_options, option_setters},
    session_setter,
};
use crate::{
    Database, Error, Result,
    bson::{
        Document, IntoDocument, RawDocument, RawDocumentBuf, RawElement, RawElements, find_element, first_key,
    },
    operation::{Operation, OperationOverrides, Properties, ReplyContext, Retry, decode_owned},
    proto::{
        command::{CommandBuilder, Reply, collection_of},
        description::HelloReply,
        retry::Intent,
        wire::sensitive,
    },
    types::read_preference::{PRIMARY, ReadPreference},
};

/// The options of `run_command`. See `api/command/declare.rs`.
macro_rules! run_command_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the database.
            /// If it is set and the command contains `maxTimeMS`, the command has the field twice,
            /// and the server rejects it.
            timeout: plain std::time::Duration;
            /// The read preference of the command. Default: primary; the read preference of the
            /// database is not used.
            read_preference: read_preference;
        }
    };
}

run_command_options! { define_options {
    /// Options of [`Database::run_command`].
    pub struct RunCommandOptions;
} }

impl Database {
    /// Runs a command and returns the complete reply. The first field of the command is its name.
    /// The command is sent as it is, with the fields that the driver adds to all commands. The read
    /// concern, the write concern and the read preference of the database are not used. The command
    /// is retried only after errors of an overloaded server, and only if both `retryReads` and
    /// `retryWrites` are `true` (see [retries](crate::action#retries)).
    ///
    /// A client with a [`ServerApi`](crate::options::ServerApi) adds it to the command. If the
    /// command itself contains `apiVersion`, `apiStrict` or `apiDeprecationErrors` as well, the
    /// behavior of the server is undefined. So it is for `$db`, `lsid`, `$clusterTime` and
    /// `$readPreference`, which the driver adds: most servers reject a field that is there twice.
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) for a reply with `ok: 0`. Write errors and
    /// write concern errors in a reply with `ok: 1` are not errors here: they are part of the
    /// reply. [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the command is
    /// empty.
    ///
    /// ```no_run
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct BuildInfo {
    ///     version: String,
    /// }
    ///
    /// let command = doc! { "buildInfo": 1 };
    /// let info = client.database("admin").run_command(command).with_type::<BuildInfo>().await?;
    /// println!("{}", info.version);
    /// # Ok(()) }
    /// ```
    pub fn run_command(&self, command: impl IntoDocument) -> RunCommand<'_> {
        let mut deferred = Deferred::default();
        RunCommand {
            database: self,
            command: deferred.document("command", command),
            deferred,
            options: RunCommandOptions::default(),
            session: self.session(),
            is_for_mongocryptd: false,
            reply: PhantomData,
        }
    }
}

/// The text of the error if the server is not mongocryptd.
pub(crate) const NOT_MONGOCRYPTD: &str = "the server is not mongocryptd";

/// Runs a command. Await it for the complete reply; see [`Database::run_command`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct RunCommand<'a, T = Document> {
    database: &'a Database,
    command: RawDocumentBuf,
    deferred: Deferred,
    options: RunCommandOptions,
    session: InSession<'a>,
    is_for_mongocryptd: bool,
    reply: PhantomData<fn() -> T>,
}

debug_without_values! {
    [T] RunCommand<'_, T>, "RunCommand", |it|
    database: it.database.name(), command: FieldNames(&it.command), options: it.options
}

impl<'a, T: DeserializeOwned + 'static> RunCommand<'a, T> {
    run_command_options! { option_setters { RunCommandOptions } }

    session_setter!();

    /// Deserializes the reply as `U`: a struct with some of its fields, or [`RawDocumentBuf`] for
    /// the bytes as received. Default: [`Document`].
    pub fn with_type<U>(self) -> RunCommand<'a, U> {
        RunCommand {
            database: self.database,
            command: self.command,
            deferred: self.deferred,
            options: self.options,
            session: self.session,
            is_for_mongocryptd: self.is_for_mongocryptd,
            reply: PhantomData,
        }
    }

    /// The command contains what is to be encrypted: it fails with [`NOT_MONGOCRYPTD`], and is not sent, if the server is not
    /// mongocryptd. Another server would execute it.
    #[cfg(feature = "encryption")]
    pub(crate) fn for_mongocryptd(mut self) -> Self {
        self.is_for_mongocryptd = true;
        self
    }

    async fn run(&mut self) -> Result<T> {
        self.deferred.take_result()?;
        self.options.deferred.take_result()?;
        let timeout = self
            .database
            .start_timeout("runCommand", self.options.timeout, self.session)?;
        let mut operation = RunCommandOperation {
            command: CustomCommand::new(
                self.database.name(),
                &self.command,
                self.options.read_preference.as_deref(),
            ),
            is_for_mongocryptd: self.is_for_mongocryptd,
            reply: PhantomData,
        };
        let executor = self.database.client().executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(in place ['a, T: DeserializeOwned + 'static] RunCommand<'a, T> => T);

/// A command of the application, shared with `run_cursor_command`.
pub(super) struct CustomCommand<'a> {
    database: &'a str,
    command: &'a RawDocument,
    read_preference: Option<&'a ReadPreference>,
    /// The key of the first element. Empty if the document is empty or malformed, which `build`
    /// rejects.
    name: &'a str,
}

impl<'a> CustomCommand<'a> {
    /// The read preference of the database does not apply (Run Command specification).
    pub(super) fn new(
        database: &'a str,
        command: &'a RawDocument,
        read_preference: Option<&'a ReadPreference>,
    ) -> Self {
        Self {
            database,
            command,
            read_preference,
            // Nothing else is read here, because every command takes this step and `build` validates
            // the document.
            name: first_key(command.as_bytes()).unwrap_or_default(),
        }
    }

    pub(super) fn overrides(&self) -> OperationOverrides {
        OperationOverrides {
            read_preference: self.read_preference.map(ReadPreference::is_primary),
            ..OperationOverrides::default()
        }
    }

    pub(super) fn is_sensitive(&self) -> bool {
        is_sensitive(self.name, self.command)
    }

    pub(super) fn collection(&self) -> Option<&str> {
        collection_of(self.command)
    }

    #[inline]
    pub(super) fn properties(&self) -> Properties<'_> {
        Properties {
            retry: Retry::No,
            intent: Intent::Any,
            ..Properties::read(self.name, self.database, self.read_preference.unwrap_or(PRIMARY))
                .without_causal_consistency()
        }
    }

    pub(super) fn build(&self, command: &mut CommandBuilder<'_>) -> Result<()> {
        let has_read_concern = self.validate()?;
        command.elements_of(self.command);
        if has_read_concern {
            command.discard_read_time();
        }
        Ok(())
    }

    /// Rejects an empty or malformed command. Returns whether there is a read concern, which is then
    /// left as it is, and not written a second time.
    fn validate(&self) -> Result<bool> {
        let mut elements = RawElements::new(self.command.as_bytes())?;
        if elements.is_empty() {
            return Err(Error::invalid_argument(
                "a command must not be empty: its first field is its name",
            ));
        }
        let mut has_read_concern = false;
        while let Some(RawElement { key, .. }) = elements.next_element()? {
            has_read_concern |= key == "readConcern";
        }
        Ok(has_read_concern)
    }
}

/// Whether the command is sensitive by its name, or is a hello with `speculativeAuthenticate`. A
/// hello that is malformed counts as sensitive.
fn is_sensitive(name: &str, command: &RawDocument) -> bool {
    let authenticates = || {
        !matches!(
            find_element(command.as_bytes(), "speculativeAuthenticate"),
            Ok(None)
        )
    };
    sensitive::is_sensitive(name.as_bytes()) || (sensitive::is_hello(name.as_bytes()) && authenticates())
}

/// Runs a command and decodes its whole reply.
struct RunCommandOperation<'a, T> {
    command: CustomCommand<'a>,
    is_for_mongocryptd: bool,
    reply: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + 'static> Operation for RunCommandOperation<'_, T> {
    type Output = T;

    #[inline]
    fn properties(&self) -> Properties<'_> {
        self.command.properties()
    }

    fn collection(&self) -> Option<&str> {
        self.command.collection()
    }

    fn operation_name(&self) -> &str {
        "runCommand"
    }

    fn is_sensitive(&self) -> bool {
        self.command.is_sensitive()
    }

    fn overrides(&self) -> OperationOverrides {
        self.command.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        if self.is_for_mongocryptd && !server.iscryptd {
            return Err(Error::unsupported(NOT_MONGOCRYPTD));
        }
        self.command.build(command)
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<T> {
        decode_owned(reply.body)
    }
}
