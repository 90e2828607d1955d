//! A seeded random number generator, and a function that runs a test for many seeds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The generator splitmix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x5DEE_CE66)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// An index below `length`, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// `true` with a probability of `often` percent.
    pub fn percent(&mut self, often: u64) -> bool {
        self.below(100) < often
    }

    /// A number in `0.0..1.0`.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Runs the test for `count` seeds, or for the one in `SIMULATION_SEED`.
///
/// # Panics
/// If the test panics. The seed is printed.
pub fn for_each_seed(count: u64, test: impl Fn(u64)) {
    let given = std::env::var("SIMULATION_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seeds = match given {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("failed with SIMULATION_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
