//! Establishing and pooling connections: connection strings, DNS, addresses, SOCKS5 proxies, and
//! Connection Monitoring and Pooling; warm-up and shutdown.

mod invalid_options;
mod load;
mod name_servers;
mod pool;
mod shutdown;
mod sockets;
mod socks5;
mod srv;
mod warm_up;
