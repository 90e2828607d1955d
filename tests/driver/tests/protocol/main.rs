//! Messages between the driver and one server: OP_MSG and OP_COMPRESSED, the handshake, the fields
//! that the driver adds to commands, the limits of messages and replies, and replies that break the
//! protocol.

mod application_errors;
mod compression;
mod handshake;
mod limits;
mod load_balancer;
mod message;
mod message_size;
mod protocol_errors;
mod scripted;
mod stable_api;
mod versions;
