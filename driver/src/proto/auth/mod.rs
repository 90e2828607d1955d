//! Authentication: the conversations of the mechanisms ([Authentication]).
//!
//! [`Login`] is the state of a connection before its handshake. It writes its fields of the first
//! hello, and converts the hello reply to the first [`Step`]. Each step returns the next one, until
//! [`Done`](Step::Done):
//!
//! - [`Send`](Step::Send) a command, and pass its reply to [`Awaiting::handle_reply`];
//! - [`Derive`](Step::Derive) the keys of a password, which is slow by design, and pass them to
//!   [`AwaitingKeys::handle_keys`];
//! - obtain an access [`Token`](Step::Token), and pass it to [`AwaitingToken::handle_token`];
//! - obtain credentials of AWS, and pass them to `AwaitingCredentials::handle_credentials`;
//! - call the GSS-API, and pass the result to `AwaitingSecurityContext::handle_output`.
//!
//! States are consumed by value, so no conversation can be continued twice or after it failed.
//! Random numbers and the time are arguments.
//!
//! A reply with `ok: 0` ends the conversation, unless [`Awaiting::handle_refusal`] returns a step.
//! Reauthentication is [`Login::begin`] without a handshake.
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

#[cfg(feature = "aws-auth")]
mod aws;
mod conversation;
#[cfg(feature = "gssapi")]
mod gssapi;
mod login;
mod mechanism;
mod oidc;
mod reply;
mod request;
mod scram;

#[cfg(all(feature = "aws-auth", feature = "internals"))]
pub use conversation::AwaitingCredentials;
#[cfg(feature = "gssapi")]
pub use conversation::AwaitingSecurityContext;
pub use conversation::{Awaiting, Step};
#[cfg(feature = "internals")]
pub use conversation::{AwaitingKeys, AwaitingToken};
#[cfg(feature = "gssapi")]
pub use gssapi::{CanonicalizeHostName, GssCall, GssOutput, GssapiProperties, ServiceName};
pub use login::{Identity, Login, Nonce};
pub use mechanism::{Mechanism, ScramHash};
pub use oidc::{IdpInfo, OidcFlow, Token, TokenRequest, TokenSource};
pub use reply::{Offer, parse_reply};
pub use request::Request;
pub use scram::{SaltedKeys, ScramParameters};
