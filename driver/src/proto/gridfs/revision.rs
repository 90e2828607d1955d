//! Which of the files with the same name is read ("File Download by Filename").

/// A revision number: 0 is the original file, 1 its first revision, -1 the most recent revision, -2
/// the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub i32);

impl Revision {
    /// The direction of the sort by `uploadDate`.
    pub fn direction(self) -> i32 {
        if self.0 < 0 { -1 } else { 1 }
    }

    /// The number of files to skip in this order.
    pub fn skip(self) -> u64 {
        if self.0 < 0 {
            u64::from(self.0.unsigned_abs()) - 1
        } else {
            u64::from(self.0.unsigned_abs())
        }
    }
}

/// The most recent revision.
impl Default for Revision {
    fn default() -> Self {
        Self(-1)
    }
}
