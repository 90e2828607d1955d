//! Test cases and their outcomes.

use std::fmt;

/// A test case, named `suite/file::description[@topology,version]`.
pub struct Case {
    /// The suite, for example `crud`.
    pub suite: String,
    /// The test format: `unified`, `sdam`, `cmap`, `bson-corpus`, …
    pub format: &'static str,
    /// The file relative to `source/` of the specifications, for example
    /// `crud/tests/unified/aggregate.json`.
    pub file: String,
    /// The `description` in the file.
    pub description: String,
    /// The topology, if the case depends on it.
    pub topology: Option<String>,
    /// The server version, if the case depends on it.
    pub version: Option<String>,
    /// Whether the case has time limits so short that a busy machine can exceed them.
    pub is_timed: bool,
    /// Runs the case. A panic is a failure.
    pub run: Box<dyn FnOnce() -> Outcome + Send>,
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All expectations were met.
    Passed,
    /// The reason of the failure.
    Failed(String),
    /// An unsupported operation or feature, its name first.
    Pending(String),
    /// The reason: the file requests the skip, or no test deployment satisfies its requirements.
    Skipped(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(why) => Self::Failed(why),
        }
    }
}

impl Case {
    /// A case without a deployment.
    pub fn new(
        format: &'static str,
        file: &str,
        description: impl Into<String>,
        run: impl FnOnce() -> Outcome + Send + 'static,
    ) -> Self {
        Self {
            suite: file.split('/').next().unwrap_or_default().to_owned(),
            format,
            file: file.to_owned(),
            description: description.into(),
            topology: None,
            version: None,
            is_timed: false,
            run: Box::new(run),
        }
    }

    /// A case that fails because its file cannot be parsed.
    pub fn unreadable(format: &'static str, file: &str, why: String) -> Self {
        Self::new(format, file, "(whole file)", move || Outcome::Failed(why))
    }

    /// `suite/file::description[@topology,version]`, the file without `<suite>/tests/` and `.json`.
    pub fn name(&self) -> String {
        let file = self.file.strip_suffix(".json").unwrap_or(&self.file);
        let file = file.split_once("/tests/").map_or(file, |(_, inner)| inner);
        let mut name = format!("{}/{file}::{}", self.suite, self.description);
        let place: Vec<&str> = [&self.topology, &self.version]
            .into_iter()
            .filter_map(Option::as_deref)
            .collect();
        if !place.is_empty() {
            name.push_str(&format!("[@{}]", place.join(",")));
        }
        // Names are printed on one line.
        name.replace(['\n', '\r'], " ")
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_suite_file_description_topology_and_version() {
        let mut case = Case::new("sdam", "server-x/tests/rs/a.json", "First\nline", || {
            Outcome::Passed
        });
        assert_eq!(case.name(), "server-x/rs/a::First line");
        case.topology = Some("replicaset".into());
        case.version = Some("8.2".into());
        assert_eq!(case.name(), "server-x/rs/a::First line[@replicaset,8.2]");
    }
}
