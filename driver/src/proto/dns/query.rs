//! One query: its message, and the decoding of replies to it.

use super::{
    Kind, MAX_DATAGRAM, Name, Record,
    records::{CLASS_IN, Found, find, number},
};

const HEADER: usize = 12;

// Flags of the header (RFC 1035, section 4.1.1).
const IS_REPLY: u16 = 0x8000;
const OPCODE: u16 = 0x7800;
const IS_AUTHORITY: u16 = 0x0400;
const IS_TRUNCATED: u16 = 0x0200;
const RECURSION_DESIRED: u16 = 0x0100;
const RECURSION_AVAILABLE: u16 = 0x0080;
const CODE: u16 = 0x000F;

// Response codes.
const NO_ERROR: u16 = 0;
const FORMAT_ERROR: u16 = 1;
const SERVER_FAILURE: u16 = 2;
const NO_SUCH_NAME: u16 = 3;
const NOT_IMPLEMENTED: u16 = 4;
const REFUSED: u16 = 5;

/// The type of the pseudo-record of EDNS(0) (RFC 6891, section 6.1).
const OPT: u16 = 41;

/// A query to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Unpredictable, so that a reply cannot be forged without reading the query.
    pub id: u16,
    /// Owner of the records.
    pub name: Name,
    /// Type of the records.
    pub kind: Kind,
    /// Whether to announce EDNS(0), which some old servers reject.
    pub extended: bool,
}

/// The content of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// At least one record.
    Records(Vec<Record>),
    /// There are no records; the response code.
    Nothing(&'static str),
    /// The reply exceeds a datagram: to be queried over TCP.
    Truncated,
    /// The server rejects the query; the response code.
    NotUnderstood(&'static str),
    /// An error of this server; another one may answer.
    Failure(&'static str),
}

impl Query {
    /// Encodes the query.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.name.bytes().len() + 15);
        let header = [self.id, RECURSION_DESIRED, 1, 0, 0, u16::from(self.extended)];
        bytes.extend(header.iter().flat_map(|field| field.to_be_bytes()));
        bytes.extend_from_slice(self.name.bytes());
        bytes.extend_from_slice(&self.kind.number().to_be_bytes());
        bytes.extend_from_slice(&CLASS_IN.to_be_bytes());
        if self.extended {
            // Owner: the root. No flags, no options.
            bytes.push(0);
            bytes.extend_from_slice(&OPT.to_be_bytes());
            bytes.extend_from_slice(&MAX_DATAGRAM.to_be_bytes());
            bytes.extend_from_slice(&[0; 6]);
        }
        bytes
    }

    /// Decodes a message from the queried server. `None`: it is not a reply to this query, and may
    /// be forged.
    pub fn read(&self, message: &[u8]) -> Option<Reply> {
        let flags = number(message, 2)?;
        if number(message, 0)? != self.id || flags & IS_REPLY == 0 || flags & OPCODE != 0 {
            return None;
        }
        let code = flags & CODE;
        let (questions, answers) = (number(message, 4)?, number(message, 6)?);
        // A server that cannot decode a query may not repeat its question.
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
                // Neither authoritative for the name nor recursive: a referral.
                Some(Found::Records(_)) if flags & (IS_AUTHORITY | RECURSION_AVAILABLE) == 0 => {
                    Reply::Failure("it refers to other servers")
                }
                Some(Found::Records(_)) => Reply::Nothing("NOERROR"),
            },
            _ => Reply::Failure("an error that is none of DNS lookups"),
        })
    }

    /// Index after the question, if it is that of this query.
    fn question_end(&self, message: &[u8]) -> Option<usize> {
        let (is_name, at) = self.name.is_at(message, HEADER)?;
        let is_ours =
            is_name && number(message, at)? == self.kind.number() && number(message, at + 2)? == CLASS_IN;
        is_ours.then_some(at + 4)
    }
}
