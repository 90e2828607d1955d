//! A command given by the application, sent as it is (Run Command specification).

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::{Operation, ReplyContext, cursor};
use crate::{
    Result,
    bson::{RawDocument, RawElement, RawElements},
    operation::cursor::CursorReply,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
        server_selection::Criteria,
        wire::ReplyBuffer,
    },
    types::read_preference::ReadPreference,
};

/// Any command, whose reply is returned whole.
pub(crate) struct RunCommand<'a, T> {
    pub(crate) database: &'a str,
    pub(crate) command: &'a RawDocument,
    pub(crate) read_preference: &'a ReadPreference,
    /// False for commands that are about sessions themselves.
    pub(crate) implicit_session: bool,
    pub(crate) reply: PhantomData<fn() -> T>,
}

impl<T> RunCommand<'_, T> {
    /// The name that the command begins with, if it is one.
    fn name(&self) -> Option<&str> {
        let mut elements = RawElements::new(self.command.as_bytes()).ok()?;
        Some(elements.next_element().ok()??.key)
    }

    /// Refuses an empty command, and fields that the driver writes itself. Tells whether there is a read concern.
    fn validate(&self) -> Result<bool> {
        let mut elements = RawElements::new(self.command.as_bytes())?;
        if elements.is_empty() {
            return Err(crate::Error::invalid_argument(
                "a command needs at least its name",
            ));
        }
        let mut has_read_concern = false;
        while let Some(RawElement { key, .. }) = elements.next_element()? {
            has_read_concern |= key == "readConcern";
            if matches!(key, "$db" | "lsid" | "$clusterTime" | "$readPreference") {
                return Err(crate::Error::invalid_argument(format!(
                    "the field \"{key}\" of a command is written by the driver; leave it out"
                )));
            }
        }
        Ok(has_read_concern)
    }
}

impl<T: DeserializeOwned + 'static> Operation for RunCommand<'_, T> {
    type Output = T;
    const NAME: &'static str = "runCommand";

    fn command_name(&self) -> &str {
        self.name().unwrap_or(Self::NAME)
    }

    fn database(&self) -> &str {
        self.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.read_preference)
    }

    fn intent(&self) -> Intent {
        Intent::Any
    }

    fn uses_session(&self) -> bool {
        self.implicit_session
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        let has_read_concern = self.validate()?;
        command.elements_of(self.command);
        if has_read_concern {
            command.waive_read_time();
        }
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<T> {
        super::decode_owned(reply.body)
    }
}

/// Any command that opens a cursor.
pub(crate) struct RunCursorCommand<'a>(pub(crate) RunCommand<'a, crate::bson::RawDocumentBuf>);

impl Operation for RunCursorCommand<'_> {
    type Output = CursorReply;
    const NAME: &'static str = "runCursorCommand";

    fn command_name(&self) -> &str {
        self.0.command_name()
    }

    fn database(&self) -> &str {
        self.0.database()
    }

    fn target(&self) -> Criteria<'_> {
        self.0.target()
    }

    fn intent(&self) -> Intent {
        self.0.intent()
    }

    fn uses_session(&self) -> bool {
        self.0.uses_session()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        self.0.build(command, server)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn attach_reply(output: &mut CursorReply, take: impl FnOnce() -> ReplyBuffer) {
        cursor::attach(output, take);
    }

    fn open_cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        output.if_open()
    }
}
