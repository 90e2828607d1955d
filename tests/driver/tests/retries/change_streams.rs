//! Change streams on a replica set: resumes, and elections.

mod elections;
mod lost_servers;
mod prose;
