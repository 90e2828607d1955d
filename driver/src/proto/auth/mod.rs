//! Authentication: the conversations of the mechanisms ([Authentication]).
//!
//! [`Login`] is the state of a connection before its handshake. It writes its fields of the first
//! hello, and converts the hello reply to the first [`Step`]. Each step returns the next one, until
//! [`Done`](Step::Done):
//!
//! - [`Send`](Step::Send) a command, and pass its reply to [`Awaiting::handle_reply`];
//! - [`Derive`](Step::Derive) the keys of a password, which is slow by design, and pass them to
//!   [`AwaitingKeys::handle_keys`].
//!
//! States are consumed by value, so no conversation can be continued twice or after it failed.
//! Random numbers are arguments.
//!
//! Mechanisms that are not implemented (`GSSAPI`, `MONGODB-AWS`, `MONGODB-OIDC`) would be further
//! variants of [`Mechanism`] and of the states; the code that runs the steps does not depend on the
//! mechanism. Reauthentication is [`Login::begin`] without a handshake.
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

mod login;
mod mechanism;
mod reply;
mod request;
mod scram;

#[cfg(feature = "internals")]
pub use login::{Awaiting, AwaitingKeys};
pub use login::{Identity, Login, Nonce, Step};
pub use mechanism::{Mechanism, ScramHash};
pub use reply::{Offer, parse_reply};
pub use request::Request;
pub use scram::{SaltedKeys, ScramParameters};
