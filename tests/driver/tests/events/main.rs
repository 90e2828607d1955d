//! Log messages, spans, and event listeners that panic or drop the client.

mod listeners;
mod logs;
mod spans;
mod srv_logs;
