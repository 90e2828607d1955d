//! The server's part of `GSSAPI` (RFC 4752), over a Kerberos library that the test provides.

use std::fmt;

/// The bit that stands for no security layer.
const NO_LAYER: u8 = 1;

/// Accepts security contexts of Kerberos, with the keys of a service. The test server contains no
/// Kerberos library: a test implements this trait with one.
pub trait GssapiAcceptor: fmt::Debug + Send + Sync {
    /// The acceptor's side of a new context, for one conversation.
    ///
    /// # Errors
    /// The reason why there is none, e.g. that the keytab cannot be read. The authentication fails.
    fn accept(&self) -> Result<Box<dyn GssapiContext>, String>;
}

/// The acceptor's side of a security context. An error fails the authentication.
pub trait GssapiContext: fmt::Debug + Send {
    /// `GSS_Accept_sec_context`: handles a token of the client. Returns the token for the client, which
    /// may be empty.
    ///
    /// # Errors
    /// The token is not valid.
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, String>;

    /// Whether the context is established.
    fn is_established(&self) -> bool;

    /// The principal of the client, e.g. `ada@EXAMPLE.COM`.
    ///
    /// # Errors
    /// It is not known.
    fn client(&self) -> Result<String, String>;

    /// `GSS_Wrap` without confidentiality.
    ///
    /// # Errors
    /// The message cannot be wrapped.
    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String>;

    /// `GSS_Unwrap`.
    ///
    /// # Errors
    /// The message is not valid.
    fn unwrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String>;
}

/// A conversation that has not ended.
#[derive(Debug)]
pub(crate) struct Conversation {
    context: Box<dyn GssapiContext>,
    phase: Phase,
}

/// The message of the client that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Token,
    /// The empty reply to the last token.
    Empty,
    /// The choice of a security layer.
    Choice,
}

/// What follows a message of the client.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The conversation continues with this message.
    Continue(Conversation, Vec<u8>),
    /// The principal of the client, which is authenticated.
    Done(String),
}

impl Conversation {
    pub(crate) fn new(acceptor: &dyn GssapiAcceptor) -> Result<Conversation, String> {
        Ok(Conversation {
            context: acceptor.accept()?,
            phase: Phase::Token,
        })
    }

    /// Handles a message of the client.
    pub(crate) fn step(mut self, payload: &[u8]) -> Result<Outcome, String> {
        match self.phase {
            Phase::Token => {
                let token = self.context.step(payload)?;
                if !self.context.is_established() {
                    return Ok(Outcome::Continue(self, token));
                }
                if token.is_empty() {
                    return self.offer();
                }
                self.phase = Phase::Empty;
                Ok(Outcome::Continue(self, token))
            }
            Phase::Empty if payload.is_empty() => self.offer(),
            Phase::Empty => Err("the reply to the last token is not empty".to_owned()),
            Phase::Choice => {
                let choice = self.context.unwrap(payload)?;
                let Some(([NO_LAYER, 0, 0, 0], identity)) = choice.split_first_chunk() else {
                    return Err("the client does not choose no security layer".to_owned());
                };
                let client = self.context.client()?;
                // A name without a realm is completed with the default realm.
                let name = client.rsplit_once('@').map_or(client.as_str(), |(name, _)| name);
                if ![client.as_bytes(), name.as_bytes(), b""].contains(&identity) {
                    return Err("the client acts for another user".to_owned());
                }
                Ok(Outcome::Done(client))
            }
        }
    }

    /// Offers no security layer, and so messages of the size zero.
    fn offer(mut self) -> Result<Outcome, String> {
        let offer = self.context.wrap(&[NO_LAYER, 0, 0, 0])?;
        self.phase = Phase::Choice;
        Ok(Outcome::Continue(self, offer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A context that is established by the token `token`, and whose wrapped messages end with `!`.
    #[derive(Debug, Clone, Default)]
    struct Scripted {
        reply: &'static [u8],
        is_established: bool,
    }

    impl GssapiAcceptor for Scripted {
        fn accept(&self) -> Result<Box<dyn GssapiContext>, String> {
            Ok(Box::new(self.clone()))
        }
    }

    impl GssapiContext for Scripted {
        fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, String> {
            match token {
                b"first" => return Ok(b"more".to_vec()),
                b"token" => self.is_established = true,
                _ => return Err("another token".to_owned()),
            }
            Ok(self.reply.to_vec())
        }

        fn is_established(&self) -> bool {
            self.is_established
        }

        fn client(&self) -> Result<String, String> {
            Ok("ada@REALM".to_owned())
        }

        fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
            Ok([message, b"!"].concat())
        }

        fn unwrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
            let message = message.strip_suffix(b"!").ok_or("not wrapped")?;
            Ok(message.to_vec())
        }
    }

    /// The messages of the server, and the user or the error.
    fn converse(reply: &'static [u8], messages: &[&[u8]]) -> (Vec<Vec<u8>>, Result<String, String>) {
        let acceptor = Scripted {
            reply,
            ..Scripted::default()
        };
        let mut conversation = Conversation::new(&acceptor).unwrap();
        let mut replies = Vec::new();
        for message in messages {
            match conversation.step(message) {
                Ok(Outcome::Continue(next, reply)) => {
                    replies.push(reply);
                    conversation = next;
                }
                Ok(Outcome::Done(user)) => return (replies, Ok(user)),
                Err(error) => return (replies, Err(error)),
            }
        }
        panic!("the conversation has not ended");
    }

    const OFFER: &[u8] = b"\x01\0\0\0!";
    const CHOICE: &[u8] = b"\x01\0\0\0ada@REALM!";

    #[test]
    fn the_layer_is_negotiated_after_the_tokens() {
        let (replies, user) = converse(b"last", &[b"first", b"token", b"", CHOICE]);
        assert_eq!(replies, [b"more", b"last", OFFER]);
        assert_eq!(user.unwrap(), "ada@REALM");
        let (replies, user) = converse(b"", &[b"token", OFFER]);
        assert_eq!(replies, [OFFER], "without a last token, and without an identity");
        assert_eq!(user.unwrap(), "ada@REALM");
        let (_, user) = converse(b"", &[b"token", b"\x01\0\0\0ada!"]);
        assert_eq!(user.unwrap(), "ada@REALM", "without a realm");
    }

    #[test]
    fn wrong_messages_are_rejected() {
        for messages in [
            &[&b"odd"[..]][..],
            &[b"token", b"x"],
            &[b"token", b"", b"\x01\0\0\0ada@REALM"],
            &[b"token", b"", b"\x02\0\0\0ada@REALM!"],
            &[b"token", b"", b"\x01\0\x01\0ada@REALM!"],
            &[b"token", b"", b"\x01\0\0!"],
            &[b"token", b"", b"\x01\0\0\0ad!"],
            &[b"token", b"", b"\x01\0\0\0bob@REALM!"],
        ] {
            let (_, outcome) = converse(b"last", messages);
            assert!(outcome.is_err(), "{messages:?}");
        }
    }
}
