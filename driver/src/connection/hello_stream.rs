//! Awaitable hellos, which the server answers when its state changes, with further replies to the
//! same request (streaming protocol of the Server Monitoring specification).

use std::time::Duration;

use super::{Connection, State};
use crate::{
    Error, Result,
    proto::{
        command::CommandBuilder,
        description::{HelloReply, TopologyVersion},
        handshake,
    },
    types::deadline::Deadline,
};

impl Connection {
    /// Sends an awaitable hello and returns the first reply, which the server sends when its
    /// topology version differs from `known`, or after `limit`.
    pub async fn await_hello(
        &mut self,
        known: TopologyVersion,
        limit: Duration,
        deadline: Deadline,
    ) -> Result<HelloReply> {
        let (hello_ok, server_api) = (self.hello.hello_ok, self.server_api);
        let (mut message, _) = self.begin();
        message.allow_exhaust();
        let mut command = CommandBuilder::new(message.buffer);
        handshake::hello(&mut command, hello_ok, server_api);
        handshake::await_change(&mut command, known, limit);
        command.finish("admin")?;
        message.finish()?;
        self.send(deadline).await?;
        self.next_hello(deadline).await
    }

    /// The next answer, while there [are more](Self::is_streaming).
    pub async fn next_hello(&mut self, deadline: Deadline) -> Result<HelloReply> {
        let hello = self.receive_hello(deadline).await?;
        if self.state == State::Broken {
            let surplus = Error::protocol("the server sent an answer that it had not announced");
            return Err(self.fail(surplus));
        }
        Ok(hello)
    }

    /// Whether the server announced another answer.
    pub fn is_streaming(&self) -> bool {
        self.exhaust && self.state == State::Reading
    }
}
