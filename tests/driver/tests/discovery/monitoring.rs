//! Server monitoring: the prose tests of Server Discovery and Monitoring, and the resources of
//! monitors.

mod failures;
mod intervals;
mod lifetime;
mod log;
mod overload;
mod units;
