//! The random factor of the pauses before retries. Its twin is `jitter_fixed`.

use super::random::random_factor;

/// Draws a random number for each pause.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter;

impl Jitter {
    /// From 0 to 1, 1 excluded.
    pub(super) fn next(self) -> f64 {
        random_factor()
    }
}
