//! Change streams on a replica set: resumes, and elections.

mod elections;
mod prose;
