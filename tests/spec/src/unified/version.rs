//! Versions of servers and of the test format.

use std::fmt;

/// Three numbers. Missing numbers are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Version(pub(crate) [u32; 3]);

impl Version {
    /// Parses a version such as `8.2` or `8.2.1`. Any suffix after the third number is ignored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for (index, number) in numbers.iter_mut().enumerate() {
            let Some(part) = parts.next() else {
                return (index > 0).then_some(Self(numbers));
            };
            let digits: &str = part
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap_or_default();
            *number = digits.parse().ok()?;
        }
        Some(Self(numbers))
    }

    /// The major and minor numbers.
    pub(crate) fn release(self) -> (u32, u32) {
        let [major, minor, _] = self.0;
        (major, minor)
    }
}

/// Formats as `8.2`, or with the third number if it is not 0.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}")?;
        if patch > 0 {
            write!(f, ".{patch}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_numbers_are_zero() {
        assert_eq!(Version::parse("4"), Some(Version([4, 0, 0])));
        assert_eq!(Version::parse("4.4.99"), Some(Version([4, 4, 99])));
        assert_eq!(Version::parse("8.2.0-rc1"), Some(Version([8, 2, 0])));
        assert_eq!(Version::parse("latest"), None);
        assert!(Version::parse("10.0") > Version::parse("9.9.9"));
    }
}
