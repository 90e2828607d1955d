//! One question as a message, and what a message says to it.

use super::{
    Kind, MAX_DATAGRAM, Name, Record,
    records::{CLASS_IN, Found, find, number},
};

const HEADER: usize = 12;

// The second pair of bytes in a header.
const IS_REPLY: u16 = 0x8000;
const OPCODE: u16 = 0x7800;
const IS_AUTHORITY: u16 = 0x0400;
const IS_TRUNCATED: u16 = 0x0200;
const RECURSION_DESIRED: u16 = 0x0100;
const RECURSION_AVAILABLE: u16 = 0x0080;
const CODE: u16 = 0x000F;

// Codes of replies.
const NO_ERROR: u16 = 0;
const FORMAT_ERROR: u16 = 1;
const SERVER_FAILURE: u16 = 2;
const NO_SUCH_NAME: u16 = 3;
const NOT_IMPLEMENTED: u16 = 4;
const REFUSED: u16 = 5;

/// The type of the record that announces EDNS(0).
const OPT: u16 = 41;

/// A question to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Random, so that nobody can answer who does not see the question.
    pub id: u16,
    /// Whose records.
    pub name: Name,
    /// Which records.
    pub kind: Kind,
    /// Whether to announce EDNS(0), which some old servers do not understand.
    pub extended: bool,
}

/// What a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// At least one record.
    Records(Vec<Record>),
    /// There are none, and why.
    Nothing(&'static str),
    /// More than a datagram holds: ask over TCP.
    Truncated,
    /// The server does not understand the question.
    NotUnderstood(&'static str),
    /// Another server may know more.
    Failure(&'static str),
}

impl Query {
    /// The message.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.name.bytes().len() + 15);
        let header = [self.id, RECURSION_DESIRED, 1, 0, 0, u16::from(self.extended)];
        bytes.extend(header.iter().flat_map(|field| field.to_be_bytes()));
        bytes.extend_from_slice(self.name.bytes());
        bytes.extend_from_slice(&self.kind.number().to_be_bytes());
        bytes.extend_from_slice(&CLASS_IN.to_be_bytes());
        if self.extended {
            // Of the root, no flags, no options.
            bytes.push(0);
            bytes.extend_from_slice(&OPT.to_be_bytes());
            bytes.extend_from_slice(&MAX_DATAGRAM.to_be_bytes());
            bytes.extend_from_slice(&[0; 6]);
        }
        bytes
    }

    /// Reads a message from the server that was asked. `None`: it does not answer this question, so whoever sent it is not to be
    /// believed.
    pub fn read(&self, message: &[u8]) -> Option<Reply> {
        let flags = number(message, 2)?;
        if number(message, 0)? != self.id || flags & IS_REPLY == 0 || flags & OPCODE != 0 {
            return None;
        }
        let code = flags & CODE;
        let (questions, answers) = (number(message, 4)?, number(message, 6)?);
        // A server that cannot read a question may not repeat it.
        let is_refusal = matches!(code, FORMAT_ERROR | SERVER_FAILURE | NOT_IMPLEMENTED | REFUSED);
        let end = match questions {
            0 if is_refusal => HEADER,
            1 => self.question_end(message)?,
            _ => return None,
        };
        Some(match code {
            FORMAT_ERROR => Reply::NotUnderstood("FORMERR"),
            NOT_IMPLEMENTED => Reply::NotUnderstood("NOTIMP"),
            SERVER_FAILURE => Reply::Failure("SERVFAIL"),
            REFUSED => Reply::Failure("REFUSED"),
            NO_SUCH_NAME => Reply::Nothing("NXDOMAIN"),
            NO_ERROR if flags & IS_TRUNCATED != 0 => Reply::Truncated,
            NO_ERROR => match find(message, end, answers, &self.name, self.kind) {
                None => Reply::Failure("its reply is malformed"),
                Some(Found::EndlessAliases) => Reply::Failure("its aliases lead to one another without end"),
                Some(Found::Records(records)) if !records.is_empty() => Reply::Records(records),
                // Neither the name's own server nor one that asks others.
                Some(Found::Records(_)) if flags & (IS_AUTHORITY | RECURSION_AVAILABLE) == 0 => {
                    Reply::Failure("it refers to other servers")
                }
                Some(Found::Records(_)) => Reply::Nothing("NOERROR"),
            },
            _ => Reply::Failure("an error that is none of DNS lookups"),
        })
    }

    /// Where the one question of a message ends, if it is ours.
    fn question_end(&self, message: &[u8]) -> Option<usize> {
        let (is_name, at) = self.name.is_at(message, HEADER)?;
        let is_ours =
            is_name && number(message, at)? == self.kind.number() && number(message, at + 2)? == CLASS_IN;
        is_ours.then_some(at + 4)
    }
}
