//! Logging in: the conversations of the mechanisms (Authentication specification).
//!
//! [`Login`] is what one connection knows before its handshake. It writes its part of the first hello, and takes the reply to
//! it into the first [`Step`]. Each step says what to do next; doing it gives the next step, until
//! [`Done`](Step::Done):
//!
//! - [`Send`](Step::Send) a command, and hand its reply to [`Awaiting::handle_reply`];
//! - [`Derive`](Step::Derive) the keys of a password, which takes long on purpose, and hand them to
//!   [`AwaitingKeys::handle_keys`].
//!
//! States are consumed by value, so that no conversation can be continued twice, or after it failed. Random numbers come in
//! as arguments.
//!
//! Mechanisms that the driver lacks (`GSSAPI`, `MONGODB-AWS`, `MONGODB-OIDC`) would be further variants of [`Mechanism`] and of
//! the states; what runs the steps does not know one from another. The same holds for logging in again on a connection in
//! use, which is [`Login::begin`] without a handshake.

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
