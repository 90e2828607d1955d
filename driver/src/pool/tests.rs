//! Tests of the pool against a scripted server.
