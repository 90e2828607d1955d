//! The unified test format: files, deployments, entities, operations, matching and events.
//!
//! [`collect`] creates cases from the files, and from those of the legacy format of Client Side
//! Encryption. A case runs on a deployment with the topology and version that it was collected for;
//! its other requirements are checked on that deployment.
//! `SPEC_COMPRESSORS` sets the compressors of all clients of in-process deployments.
//! With `MARULA_CRYPT_SHARED`, commands are analyzed by the library `crypt_shared` instead of mongocryptd.

mod data;
mod deployment;
mod description;
mod entity;
mod event;
mod expected_error;
mod file;
mod legacy;
mod matcher;
mod message;
mod missing;
mod operation;
mod requirement;
mod run;
mod schema;
mod span;
mod stop;
mod version;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use marula_driver::bson::{Bson, Document};

use self::{
    deployment::Deployment,
    file::{Test, TestFile},
    requirement::Target,
    stop::{Step, Stop},
};
use crate::{
    case::{Case, Outcome},
    timing,
};

/// The number of deployments on which a test runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matrix {
    /// One topology and one version that satisfy the requirements.
    #[default]
    Short,
    /// All topologies and versions that satisfy the requirements.
    Full,
}

impl Matrix {
    /// The value of `SPEC_MATRIX`: `full`, otherwise the short matrix.
    #[must_use]
    pub fn from_environment() -> Self {
        match std::env::var("SPEC_MATRIX") {
            Ok(value) if value == "full" => Self::Full,
            _ => Self::Short,
        }
    }
}

/// The expected outcome of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Test,
    /// The schema must reject the file.
    Invalid,
    /// The tests of the file must fail.
    MustFail,
    /// A file of the legacy format of Client Side Encryption.
    Legacy,
}

impl FileKind {
    /// The kind of a file, by its path relative to the folder of the specifications.
    fn of(name: &str) -> Self {
        if name.starts_with("unified-test-format/tests/invalid/") {
            Self::Invalid
        } else if name.starts_with("unified-test-format/tests/valid-fail/") {
            Self::MustFail
        } else if name.starts_with(legacy::FOLDER) {
            Self::Legacy
        } else {
            Self::Test
        }
    }

    /// [`Case::format`]
    fn format(self) -> &'static str {
        match self {
            Self::Test | Self::Invalid | Self::MustFail => "unified",
            Self::Legacy => "legacy",
        }
    }
}

/// Collects all cases of the unified test format, and of the legacy format of Client Side
/// Encryption, in `root`, the folder `source` of the specifications.
#[must_use]
pub fn collect(root: &Path, matrix: Matrix) -> Vec<Case> {
    let external = deployment::external_uri().map(|uri| external_target(&uri));
    let mut cases = Vec::new();
    for path in json_files(root) {
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        let kind = FileKind::of(&name);
        if let Some(parsed) = load(&path, kind) {
            let source = Source {
                name: &name,
                kind,
                matrix,
                external: external.as_ref(),
            };
            cases.extend(source.cases(parsed));
        }
    }
    cases
}

/// All JSON files, in a fixed order.
fn json_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Parses a file. Returns `None` for other test formats, which have no `schemaVersion`.
fn load(path: &Path, kind: FileKind) -> Option<Result<Document, String>> {
    if kind == FileKind::Test {
        let text = std::fs::read_to_string(path).ok()?;
        if !text.contains("\"schemaVersion\"") {
            return None;
        }
    }
    match file::parse(path) {
        Ok(document) if kind == FileKind::Test && !document.contains_key("schemaVersion") => None,
        parsed => Some(parsed),
    }
}

/// The file whose cases are collected.
struct Source<'a> {
    /// [`Case::file`]
    name: &'a str,
    kind: FileKind,
    matrix: Matrix,
    /// The target at `MONGODB_URI`.
    external: Option<&'a Result<Target, String>>,
}

impl Source<'_> {
    fn case(
        &self,
        description: &str,
        target: Option<Target>,
        run: impl FnOnce() -> Outcome + Send + 'static,
    ) -> Case {
        Case {
            topology: target.map(|target| target.topology.to_string()),
            version: target.map(|target| target.version.to_string()),
            ..Case::new(self.kind.format(), self.name, description, run)
        }
    }

    /// All cases of the file.
    fn cases(&self, parsed: Result<Document, String>) -> Vec<Case> {
        let invalid = |error: String| {
            let outcome = match self.kind {
                FileKind::MustFail => Outcome::Passed,
                _ => Outcome::Failed(error),
            };
            vec![self.case("is a valid file", None, move || outcome)]
        };
        match self.kind {
            FileKind::Invalid => {
                let run = move || must_be_invalid(parsed);
                vec![self.case("is rejected by the schema", None, run)]
            }
            FileKind::Legacy => match parsed.and_then(legacy::convert) {
                Ok(tests) => tests
                    .into_iter()
                    .flat_map(|test| self.legacy_test(test))
                    .collect(),
                Err(error) => invalid(error),
            },
            FileKind::Test | FileKind::MustFail => match parsed.and_then(TestFile::new) {
                Ok(file) => self.tests(file),
                Err(error) => invalid(error),
            },
        }
    }

    /// The cases of a test that was converted from the legacy format.
    fn legacy_test(&self, test: legacy::Converted) -> Vec<Case> {
        match test.document.and_then(TestFile::from_legacy) {
            Ok(file) => self.tests(file),
            Err(error) => {
                let run = move || Outcome::Failed(format!("invalid test: {error}"));
                vec![self.case(&test.description, None, run)]
            }
        }
    }

    /// The cases of the tests of a valid file: one for each target.
    fn tests(&self, file: TestFile) -> Vec<Case> {
        let (file, kind) = (Arc::new(file), self.kind);
        let is_shared_timed = file.entities.iter().any(timing::is_timed_value);
        let mut cases = Vec::new();
        for test in &file.tests {
            let targets = match (&test.skip_reason, self.external) {
                (Some(_), _) => Vec::new(),
                (None, Some(Ok(target))) => vec![*target],
                (None, Some(Err(error))) => {
                    let error = error.clone();
                    cases.push(self.case(&test.description, None, move || Outcome::Failed(error)));
                    continue;
                }
                (None, None) => {
                    let full = self.matrix == Matrix::Full;
                    requirement::targets(&file.requirements, &test.requirements, full)
                }
            };
            if targets.is_empty() {
                let reason = test
                    .skip_reason
                    .clone()
                    .unwrap_or_else(|| "runOnRequirements: no topology and version".to_owned());
                cases.push(self.case(&test.description, None, move || Outcome::Skipped(reason)));
            }
            let is_timed = is_shared_timed || test.operations.iter().any(timing::is_timed);
            for target in targets {
                let (file, test) = (Arc::clone(&file), test.clone());
                let description = test.description.clone();
                let run = move || outcome_of(kind, run_case(&file, &test, target));
                cases.push(Case {
                    is_timed,
                    ..self.case(&description, Some(target), run)
                });
            }
        }
        cases
    }
}

fn outcome_of(kind: FileKind, result: Step) -> Outcome {
    match (kind, result) {
        (FileKind::MustFail, Err(Stop::Failed(_))) => Outcome::Passed,
        (FileKind::MustFail, Ok(())) => Outcome::Failed("the test passed, but must fail".to_owned()),
        (_, Ok(())) => Outcome::Passed,
        (_, Err(stop)) => stop.into_outcome(),
    }
}

/// A file in `invalid` passes if the schema rejects it.
fn must_be_invalid(parsed: Result<Document, String>) -> Outcome {
    match parsed {
        Err(error) => Outcome::Failed(error),
        Ok(document) if schema::violations(&document).is_empty() => {
            Outcome::Failed("the schema accepts an invalid file".to_owned())
        }
        Ok(_) => Outcome::Passed,
    }
}

fn runtime() -> Step<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Failed(format!("cannot create a runtime: {error}")))
}

fn external_target(uri: &str) -> Result<Target, String> {
    let found = runtime().and_then(|runtime| runtime.block_on(Deployment::external(uri)));
    match found {
        Ok(deployment) => Ok(deployment.target),
        Err(stop) => Err(format!("{:?}", stop.into_outcome())),
    }
}

fn run_case(file: &TestFile, test: &Test, target: Target) -> Step {
    let runtime = runtime()?;
    let external = deployment::external_uri();
    let _lock = external.is_some().then(deployment::lock_external);
    let (result, deployment) = runtime.block_on(async {
        let acquired = match &external {
            Some(uri) => Deployment::external(uri).await,
            None => {
                let auth = [&file.requirements, &test.requirements]
                    .into_iter()
                    .any(|requirements| requirement::requires_auth(requirements, target));
                Deployment::acquire(target, &parameters(file, test), auth).await
            }
        };
        let deployment = match acquired {
            Ok(deployment) => deployment,
            Err(stop) => return (Err(stop), None),
        };
        let met = requirement::check(&file.requirements, target, &deployment.facts)
            .and_then(|()| requirement::check(&test.requirements, target, &deployment.facts));
        if let Err(stop) = met {
            return (Err(stop), Some(deployment));
        }
        let (result, clean) = run::run(&deployment, file, test).await;
        // A failure of the test has precedence over its violations.
        let violations = deployment.check_violations();
        let result = result.and(violations);
        if test.uses(&run::TRANSACTIONS) || (external.is_some() && result.is_err()) {
            run::kill_all_sessions(&deployment).await;
        }
        (result, clean.then_some(deployment))
    });
    // Shutting down the runtime ends the tasks of the test before the deployment is reused.
    runtime.shutdown_background();
    if let Some(deployment) = deployment {
        deployment.release();
    }
    result
}

/// The required server parameters that must be set when a server is started.
fn parameters(file: &TestFile, test: &Test) -> Document {
    let mut parameters = Document::new();
    for requirement in file.requirements.iter().chain(&test.requirements) {
        if let Ok(wanted) = requirement.get_document("serverParameters") {
            // Only the Stable API parameters are set; the others are properties of the server.
            for (name, value) in wanted {
                if matches!(name.as_str(), "acceptApiVersion2" | "requireApiVersion")
                    && *value == Bson::Boolean(true)
                {
                    parameters.insert(name, value.clone());
                }
            }
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::{stop::failed, *};

    #[test]
    fn tests_that_must_fail_pass_only_if_they_fail() {
        assert_eq!(outcome_of(FileKind::MustFail, failed("x")), Outcome::Passed);
        assert!(matches!(
            outcome_of(FileKind::MustFail, Ok(())),
            Outcome::Failed(_)
        ));
        let pending = Err(Stop::Pending("session".to_owned()));
        assert!(matches!(
            outcome_of(FileKind::MustFail, pending),
            Outcome::Pending(_)
        ));
        assert!(matches!(
            outcome_of(FileKind::Test, failed("x")),
            Outcome::Failed(_)
        ));
        assert_eq!(outcome_of(FileKind::Test, Ok(())), Outcome::Passed);
    }

    #[test]
    fn invalid_files_pass_when_the_schema_rejects_them() {
        let operations: Vec<Bson> = Vec::new();
        let mut file = doc! { "description": "d", "schemaVersion": "1.0", "tests": [{ "description": "t", "operations": operations }] };
        assert!(matches!(must_be_invalid(Ok(file.clone())), Outcome::Failed(_)));
        assert!(matches!(
            must_be_invalid(Err("invalid JSON".to_owned())),
            Outcome::Failed(_)
        ));
        file.insert("description", 1);
        assert_eq!(must_be_invalid(Ok(file)), Outcome::Passed);
    }
}
