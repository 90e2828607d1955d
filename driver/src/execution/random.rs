//! Random numbers for the pauses before retries.

use std::hash::{BuildHasher, RandomState};

/// A random number from 0 to 1, 1 excluded.
pub(super) fn random_factor() -> f64 {
    (RandomState::new().hash_one(0) >> 11) as f64 / (1_u64 << 53) as f64
}
