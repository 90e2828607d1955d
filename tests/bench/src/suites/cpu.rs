//! Reads the CPU time of a process.

use std::{fs, time::Duration};

/// USER_HZ: the unit of `/proc/PID/stat` is 1/100 s on all supported architectures.
const TICKS: f64 = 100.0;

/// User and system time of all threads of a process, including terminated ones, in units of 10 ms;
/// `None` if it cannot be read.
#[must_use]
pub fn of(process: u32) -> Option<Duration> {
    parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<Duration> {
    // The second field is the executable name in parentheses, which can contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    let (user, system) = (ticks()?, ticks()?);
    Some(Duration::from_secs_f64(
        (f64::from(user) + f64::from(system)) / TICKS,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 1 2 3";
        assert_eq!(parse(stat), Some(Duration::from_secs(2)));
        assert_eq!(parse("42 (a) S 1"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn an_unknown_process_has_no_cpu_time() {
        assert_eq!(of(u32::MAX), None);
    }
}
