//! The BSON that filters, updates, paths and index declarations compile to. No server.

mod allocations;
mod filters;
mod indexes;
mod literals;
mod paths;
mod updates;
