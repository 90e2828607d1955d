//! As `jitter`, with a factor that tests can fix.

use super::random::random_factor;

/// Draws a random number for each pause, or returns the fixed one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter(pub(crate) Option<f64>);

impl Jitter {
    /// From 0 to 1, 1 excluded, if it is not fixed.
    pub(super) fn next(self) -> f64 {
        self.0.unwrap_or_else(random_factor)
    }
}
