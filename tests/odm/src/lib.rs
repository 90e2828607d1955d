//! Behaviour of the ODM through its public API.
