//! What is known of servers and of the deployment (Server Discovery and Monitoring specification).

mod hello;

pub(crate) use hello::HelloReply;
