//! A test case, whatever its format.

use std::fmt;

/// One test case, named `suite/file::description[@topology,version]`.
pub struct Case {
    /// The specification, e.g. `crud`.
    pub suite: String,
    /// The format of its file: `unified`, `sdam`, `cmap`, `bson-corpus` ….
    pub format: &'static str,
    /// The file, relative to the specifications' `source` folder.
    pub file: String,
    /// What the test says of itself.
    pub description: String,
    /// The topology, where it matters.
    pub topology: Option<String>,
    /// The server's version, where it matters.
    pub version: Option<String>,
    /// Runs it.
    pub run: Box<dyn FnOnce() -> Outcome + Send>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Otherwise; why.
    Failed(String),
    /// It needs this ability, which the driver does not have.
    Pending(String),
    /// The case itself asks to be left out, or wants what no deployment of ours is.
    Skipped(String),
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({}::{})", self.file, self.description)
    }
}
