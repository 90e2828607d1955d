//! What a suite gives to the runner.

use std::fmt;

/// One test case, named `suite/file::description[@topology,version]`.
pub struct Case {
    /// The suite, e.g. `crud`.
    pub suite: String,
    /// The format of the file: `unified`, `sdam`, `cmap`, `bson-corpus` ...
    pub format: &'static str,
    /// The file, relative to the specifications' `source/`, e.g. `crud/tests/unified/aggregate.json`.
    pub file: String,
    /// The description in the file.
    pub description: String,
    /// The topology it runs on, where it matters.
    pub topology: Option<String>,
    /// The server version it runs on, where it matters.
    pub version: Option<String>,
    /// Runs it. A panic counts as failed.
    pub run: Box<dyn FnOnce() -> Outcome + Send>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the file demands.
    Passed,
    /// Otherwise, and how.
    Failed(String),
    /// It needs what is not built yet: the operation or ability, its name first.
    Pending(String),
    /// The file itself asks for it, or it needs what no deployment of ours can be.
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
    /// A case that needs no deployment.
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
            run: Box::new(run),
        }
    }

    /// A case that stands for a file that cannot be read as its suite's format: it fails.
    pub fn unreadable(format: &'static str, file: &str, why: String) -> Self {
        Self::new(format, file, "(the file as a whole)", move || {
            Outcome::Failed(why)
        })
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
        // Names are lines in listings.
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
    fn names_tell_suite_file_description_and_place() {
        let mut case = Case::new("sdam", "server-x/tests/rs/a.json", "First\nline", || {
            Outcome::Passed
        });
        assert_eq!(case.name(), "server-x/rs/a::First line");
        case.topology = Some("replicaset".into());
        case.version = Some("8.2".into());
        assert_eq!(case.name(), "server-x/rs/a::First line[@replicaset,8.2]");
    }
}
