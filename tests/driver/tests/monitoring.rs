//! How servers are watched: the prose tests of Server Discovery and Monitoring, and what monitors leave behind.

#[path = "monitoring/failures.rs"]
mod failures;
#[path = "monitoring/lifetime.rs"]
mod lifetime;
#[path = "monitoring/log.rs"]
mod log;
#[path = "monitoring/overload.rs"]
mod overload;
#[path = "monitoring/rhythm.rs"]
mod rhythm;
#[path = "monitoring/units.rs"]
mod units;
