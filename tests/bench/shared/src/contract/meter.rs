//! What the measured part cost this process.

use std::{fmt, fs, io, time::Instant};

/// The figures of the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Operations done.
    pub ops: u64,
    /// Time on the wall's clock.
    pub wall_ns: u64,
    /// User and system time of all threads.
    pub cpu_ns: u64,
    /// The most memory that was resident since the process began.
    pub peak_kib: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ops,
            wall_ns,
            cpu_ns,
            peak_kib,
        } = self;
        write!(
            f,
            r#"{{"ops":{ops},"wall_ns":{wall_ns},"cpu_ns":{cpu_ns},"peak_kib":{peak_kib}}}"#
        )
    }
}

/// Runs from its making to [`stop`](Self::stop).
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu_ns: u64,
}

impl Meter {
    /// Starts to measure.
    ///
    /// # Errors
    /// When `/proc` does not tell.
    pub fn start() -> io::Result<Self> {
        let cpu_ns = cpu_ns()?;
        Ok(Self {
            began: Instant::now(),
            cpu_ns,
        })
    }

    /// What was spent since the start, on so many operations.
    ///
    /// # Errors
    /// When `/proc` does not tell.
    pub fn stop(&self, ops: u64) -> io::Result<Figures> {
        let wall_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Figures {
            ops,
            wall_ns,
            cpu_ns: cpu_ns()?.saturating_sub(self.cpu_ns),
            peak_kib: peak_kib()?,
        })
    }
}

/// What all threads of this process have used. Threads that have ended don't count, so none may end while it is measured;
/// one that ends between the listing and its turn is left out like those that ended before.
fn cpu_ns() -> io::Result<u64> {
    const ESRCH: i32 = 3;
    let mut sum = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = match fs::read_to_string(thread?.path().join("schedstat")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        let spent = text
            .split_whitespace()
            .next()
            .and_then(|field| field.parse::<u64>().ok());
        sum += spent.ok_or_else(|| io::Error::other("schedstat has no number"))?;
    }
    Ok(sum)
}

fn peak_kib() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    text.lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| io::Error::other("status has no VmHWM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_time_and_memory() {
        let meter = Meter::start().unwrap();
        let mut sum = 0_u64;
        let figures = loop {
            sum = (0..100_000_u64).fold(sum, |sum, n| std::hint::black_box(sum ^ n));
            let figures = meter.stop(7).unwrap();
            if figures.cpu_ns > 0 {
                break figures;
            }
        };
        assert_eq!(figures.ops, 7);
        assert!(figures.wall_ns > 0 && figures.peak_kib > 100, "{figures}");
    }
}
