//! Server monitoring: the prose tests of Server Discovery and Monitoring, and the resources of monitors.

mod failures;
mod lifetime;
mod log;
mod overload;
mod rhythm;
mod units;
