//! An in-process, in-memory MongoDB-compatible server for tests, examples and other clients.
