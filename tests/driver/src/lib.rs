//! Behaviour of the driver through its public API.
