//! The CPU time of child processes. Linux only.

use std::fs;

use super::Failure;

/// User and system time of all terminated child processes and their descendants, in seconds
/// (`cutime` and `cstime` in `/proc/self/stat`).
pub(super) fn children_seconds() -> Result<f64, Failure> {
    // USER_HZ is 100 on all supported architectures.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the executable name in parentheses, which can contain any character.
    let (_, rest) = stat
        .rsplit_once(") ")
        .ok_or("/proc/self/stat has an unknown format")?;
    let field = |n: usize| {
        rest.split_whitespace()
            .nth(n)
            .and_then(|field| field.parse::<f64>().ok())
    };
    let (user, system) = field(13)
        .zip(field(14))
        .ok_or("/proc/self/stat has an unknown format")?;
    Ok((user + system) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_children_is_read() {
        assert!(children_seconds().unwrap() >= 0.0);
    }
}
