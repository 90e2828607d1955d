//! A bounded number of faults in a seeded order, and the rule that makes a proxy commit them.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver_tests::{
    Proxy,
    proxy::{Control, Exchange, Fate},
};

/// splitmix64
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// One fault.
#[derive(Clone, Debug)]
enum Fault {
    /// Of the exchange at hand.
    Now(Fate),
    /// Of the next handshake or check; the exchange at hand passes.
    Hello(Fate),
    /// Of the next connections; the exchange at hand is lost, so that there are some.
    Refuse(usize),
}

/// Faults that happen at the same moment to as many exchanges, and how many exchanges pass before. A server that failed is
/// not asked again for half a second, so one by one they would take long.
#[derive(Clone, Debug)]
struct Burst {
    gap: usize,
    faults: VecDeque<Fault>,
}

/// Most faults in a burst. They, one exchange that hangs since the last burst, and one that goes on must fit the pool.
const BURST: usize = 6;

/// What is still to come.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    bursts: VecDeque<Burst>,
    hello: Option<Fate>,
    left: Arc<AtomicUsize>,
}

/// Header, flags, the section's kind and the body's length. What follows is data, which nothing protects.
const STRUCTURE: usize = 25;

fn broken(random: &mut Random) -> Fate {
    match random.below(3) {
        0 => Fate::Lose,
        1 => Fate::CutAfter(random.below(120)),
        _ => Fate::Garble {
            at: random.below(STRUCTURE),
            mask: 1 << random.below(8),
        },
    }
}

impl Script {
    pub(crate) fn new(seed: u64, faults: usize) -> Self {
        let mut random = Random(seed);
        let mut bursts = VecDeque::new();
        let mut left = faults - 1;
        while left > 0 {
            let size = left.min(1 + random.below(BURST));
            left -= size;
            let mut faults: VecDeque<Fault> = (0..size).map(|_| fault(&mut random)).collect();
            let waits = |fault: &Fault| matches!(fault, Fault::Now(Fate::Hang | Fate::Delay));
            if faults.iter().filter(|fault| waits(fault)).count() > 1 {
                faults
                    .iter_mut()
                    .filter(|fault| waits(fault))
                    .skip(1)
                    .for_each(|fault| {
                        *fault = Fault::Now(Fate::HalfClose);
                    });
            }
            let gap = random.below(200);
            bursts.push_back(Burst { gap, faults });
        }
        // The last one ends what the others made wait.
        bursts.push_back(Burst {
            gap: 50,
            faults: VecDeque::from([Fault::Now(Fate::Lose)]),
        });
        Self {
            left: Arc::new(AtomicUsize::new(faults)),
            bursts,
            hello: None,
        }
    }

    /// How many faults are left, to be read while the script runs.
    pub(crate) fn left(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.left)
    }

    /// Hands the script to a proxy.
    pub(crate) fn begin(mut self, proxy: &Proxy) {
        let control = proxy.control();
        proxy.set_rule(move |exchange| self.decide(exchange, &control));
    }

    fn decide(&mut self, exchange: &Exchange<'_>, control: &Control) -> Fate {
        if exchange.is_hello() {
            return self.hello.take().unwrap_or(Fate::Pass);
        }
        let Some(burst) = self.bursts.front_mut() else {
            return Fate::Pass;
        };
        if let Some(gap) = burst.gap.checked_sub(1) {
            burst.gap = gap;
            return Fate::Pass;
        }
        let fate = match burst.faults.pop_front() {
            None => Fate::Pass,
            Some(Fault::Now(fate)) => fate,
            Some(Fault::Hello(fate)) => {
                self.hello = Some(fate);
                Fate::Pass
            }
            Some(Fault::Refuse(count)) => {
                control.refuse(count);
                Fate::Lose
            }
        };
        self.left.fetch_sub(1, Ordering::SeqCst);
        if !burst.faults.is_empty() {
            return Fate::Later(Box::new(fate));
        }
        self.bursts.pop_front();
        control.end_waits();
        fate
    }
}

fn fault(random: &mut Random) -> Fault {
    match random.below(12) {
        0..=5 => Fault::Now(broken(random)),
        6 => Fault::Now(Fate::Hang),
        7 => Fault::Now(Fate::Delay),
        8 | 9 => Fault::Now(Fate::HalfClose),
        10 => Fault::Hello(broken(random)),
        _ => Fault::Refuse(1 + random.below(3)),
    }
}
