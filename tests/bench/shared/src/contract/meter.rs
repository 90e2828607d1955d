//! Measures wall-clock time, CPU time and memory of this process.

use std::{fmt, fs, io, time::Instant};

/// The measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Number of operations.
    pub ops: u64,
    /// Wall-clock time.
    pub wall_ns: u64,
    /// User and system time of all threads.
    pub cpu_ns: u64,
    /// Peak resident memory of the process.
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

/// Measures from [`start`](Self::start) to [`stop`](Self::stop).
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu_ns: u64,
}

impl Meter {
    /// Starts the measurement.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn start() -> io::Result<Self> {
        let cpu_ns = cpu_ns()?;
        Ok(Self {
            began: Instant::now(),
            cpu_ns,
        })
    }

    /// The measurements since the start, for `ops` operations.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
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

/// CPU time of all running threads of this process. Terminated threads are not included, so threads
/// must not end during a measurement.
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
        sum += spent.ok_or_else(|| io::Error::other("/proc/self/task/*/schedstat has an unknown format"))?;
    }
    Ok(sum)
}

fn peak_kib() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    text.lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/self/status has no VmHWM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_are_measured() {
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
