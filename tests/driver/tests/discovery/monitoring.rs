//! How servers are watched: the prose tests of Server Discovery and Monitoring, and what monitors leave behind.

mod failures;
mod lifetime;
mod log;
mod overload;
mod rhythm;
mod units;
