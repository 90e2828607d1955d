//! Command line of the test server.
fn main() {}
