//! The BSON that filters, updates, paths and index declarations compile to. No server.

mod allocations;
mod coverage;
mod filters;
mod indexes;
mod literals;
mod paths;
mod stages;
mod updates;
