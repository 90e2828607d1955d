//! Log messages, and event listeners that panic or drop the client.

mod listeners;
mod logs;
mod srv_logs;
