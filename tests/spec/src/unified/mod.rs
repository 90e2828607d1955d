//! The unified test format: loader, deployments, entities, operations, matching and events.
//!
//! [`collect`] turns the files into cases. A case waits for nothing before it runs: it then takes a deployment of the
//! topology and version that it was collected for, checks the rest of its requirements there, and runs. `SPEC_COMPRESSORS` names
//! compressors for all clients of in-process deployments.

mod data;
mod deployment;
mod description;
mod entity;
mod event;
mod expected_error;
mod file;
mod matcher;
mod message;
mod missing;
mod operation;
mod requirement;
mod run;
mod schema;
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
    requirement::Place,
    stop::{Step, Stop},
};
use crate::case::{Case, Outcome};

/// On how many deployments a test runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matrix {
    /// On one topology and one version that it allows.
    #[default]
    Short,
    /// On every topology and version that it allows.
    Full,
}

impl Matrix {
    /// As `SPEC_MATRIX` says: `full`, or anything else for the short one.
    #[must_use]
    pub fn from_environment() -> Self {
        match std::env::var("SPEC_MATRIX") {
            Ok(value) if value == "full" => Self::Full,
            _ => Self::Short,
        }
    }
}

/// What a test's file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Test,
    /// The schema must refuse it.
    Invalid,
    /// The runner must fail it.
    MustFail,
}

/// All cases of the unified format below `root`, the specifications' `source` folder.
#[must_use]
pub fn collect(root: &Path, matrix: Matrix) -> Vec<Case> {
    let real = deployment::real_uri().map(|uri| real_place(&uri));
    let mut cases = Vec::new();
    for path in json_files(root) {
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        let purpose = if name.starts_with("unified-test-format/tests/invalid/") {
            Purpose::Invalid
        } else if name.starts_with("unified-test-format/tests/valid-fail/") {
            Purpose::MustFail
        } else {
            Purpose::Test
        };
        if let Some(parsed) = load(&path, purpose) {
            collect_file(&name, purpose, parsed, matrix, real.as_ref(), &mut cases);
        }
    }
    cases
}

/// Every JSON file, in a fixed order.
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

/// The file as a document, if it is of this format: files of other formats have no `schemaVersion`.
fn load(path: &Path, purpose: Purpose) -> Option<Result<Document, String>> {
    if purpose == Purpose::Test {
        let text = std::fs::read_to_string(path).ok()?;
        if !text.contains("\"schemaVersion\"") {
            return None;
        }
    }
    match file::parse(path) {
        Ok(document) if purpose == Purpose::Test && !document.contains_key("schemaVersion") => None,
        parsed => Some(parsed),
    }
}

fn collect_file(
    name: &str,
    purpose: Purpose,
    parsed: Result<Document, String>,
    matrix: Matrix,
    real: Option<&Result<Place, String>>,
    cases: &mut Vec<Case>,
) {
    let case = |description: &str, place: Option<Place>, run: Box<dyn FnOnce() -> Outcome + Send>| Case {
        suite: name.split('/').next().unwrap_or_default().to_owned(),
        format: "unified",
        file: name.to_owned(),
        description: description.to_owned(),
        topology: place.map(|place| place.topology.to_string()),
        version: place.map(|place| place.version.to_string()),
        run,
    };
    if purpose == Purpose::Invalid {
        let run = move || must_be_invalid(parsed);
        cases.push(case("is refused by the schema", None, Box::new(run)));
        return;
    }
    let file = match parsed.and_then(TestFile::new) {
        Ok(file) => Arc::new(file),
        Err(error) => {
            let outcome = match purpose {
                Purpose::MustFail => Outcome::Passed,
                _ => Outcome::Failed(error),
            };
            cases.push(case("is a valid file", None, Box::new(move || outcome)));
            return;
        }
    };
    for test in &file.tests {
        let places = match (&test.skip_reason, real) {
            (Some(_), _) => Vec::new(),
            (None, Some(Ok(place))) => vec![*place],
            (None, Some(Err(error))) => {
                let error = error.clone();
                cases.push(case(
                    &test.description,
                    None,
                    Box::new(move || Outcome::Failed(error)),
                ));
                continue;
            }
            (None, None) => {
                requirement::places(&file.requirements, &test.requirements, matrix == Matrix::Full)
            }
        };
        if places.is_empty() {
            let reason = test
                .skip_reason
                .clone()
                .unwrap_or_else(|| "runOnRequirements: no topology and version".to_owned());
            cases.push(case(
                &test.description,
                None,
                Box::new(move || Outcome::Skipped(reason)),
            ));
        }
        for place in places {
            let (file, test) = (Arc::clone(&file), test.clone());
            let description = test.description.clone();
            let run = move || judge(purpose, run_case(&file, &test, place));
            cases.push(case(&description, Some(place), Box::new(run)));
        }
    }
}

fn judge(purpose: Purpose, result: Step) -> Outcome {
    match (purpose, result) {
        (Purpose::MustFail, Err(Stop::Failed(_))) => Outcome::Passed,
        (Purpose::MustFail, Ok(())) => Outcome::Failed("the test passed, and must not".to_owned()),
        (_, Ok(())) => Outcome::Passed,
        (_, Err(stop)) => stop.into_outcome(),
    }
}

/// A file in `invalid` passes when the schema rejects it, whatever its name says.
fn must_be_invalid(parsed: Result<Document, String>) -> Outcome {
    match parsed {
        Err(error) => Outcome::Failed(error),
        Ok(document) if schema::violations(&document).is_empty() => {
            Outcome::Failed("the schema accepts the file, which must be invalid".to_owned())
        }
        Ok(_) => Outcome::Passed,
    }
}

fn runtime() -> Step<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Failed(format!("cannot make a runtime: {error}")))
}

fn real_place(uri: &str) -> Result<Place, String> {
    let found = runtime().and_then(|runtime| runtime.block_on(Deployment::real(uri)));
    match found {
        Ok(deployment) => Ok(deployment.place),
        Err(stop) => Err(format!("{:?}", stop.into_outcome())),
    }
}

fn run_case(file: &TestFile, test: &Test, place: Place) -> Step {
    let runtime = runtime()?;
    let real = deployment::real_uri();
    let _held = real.is_some().then(deployment::hold_real);
    let (result, deployment) = runtime.block_on(async {
        let acquired = match &real {
            Some(uri) => Deployment::real(uri).await,
            None => {
                let auth = [&file.requirements, &test.requirements]
                    .into_iter()
                    .any(|requirements| requirement::needs_users(requirements, place));
                Deployment::acquire(place, &parameters(file, test), auth).await
            }
        };
        let deployment = match acquired {
            Ok(deployment) => deployment,
            Err(stop) => return (Err(stop), None),
        };
        let met = requirement::check(&file.requirements, place, &deployment.facts)
            .and_then(|()| requirement::check(&test.requirements, place, &deployment.facts));
        if let Err(stop) = met {
            return (Err(stop), Some(deployment));
        }
        let (result, clean) = run::run(&deployment, file, test).await;
        // What an earlier failure has led to is of less interest than the failure.
        let kept_the_rules = deployment.check_violations();
        let result = result.and(kept_the_rules);
        if test.uses(&run::TRANSACTIONS) || (real.is_some() && result.is_err()) {
            run::kill_all_sessions(&deployment).await;
        }
        (result, clean.then_some(deployment))
    });
    // Tasks of the test end with its runtime, before another test gets the deployment.
    runtime.shutdown_background();
    if let Some(deployment) = deployment {
        deployment.release();
    }
    result
}

/// The server parameters that the test requires, as settings of the server to start.
fn parameters(file: &TestFile, test: &Test) -> Document {
    let mut parameters = Document::new();
    for requirement in file.requirements.iter().chain(&test.requirements) {
        if let Ok(wanted) = requirement.get_document("serverParameters") {
            // Only the parameters of the Stable API's tests are settings; others are facts.
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
    fn tests_that_must_fail_pass_by_failing_only() {
        assert_eq!(judge(Purpose::MustFail, failed("x")), Outcome::Passed);
        assert!(matches!(judge(Purpose::MustFail, Ok(())), Outcome::Failed(_)));
        let pending = Err(Stop::Pending("session".to_owned()));
        assert!(matches!(judge(Purpose::MustFail, pending), Outcome::Pending(_)));
        assert!(matches!(judge(Purpose::Test, failed("x")), Outcome::Failed(_)));
        assert_eq!(judge(Purpose::Test, Ok(())), Outcome::Passed);
    }

    #[test]
    fn invalid_files_pass_when_the_schema_rejects_them() {
        let operations: Vec<Bson> = Vec::new();
        let mut file = doc! { "description": "d", "schemaVersion": "1.0", "tests": [{ "description": "t", "operations": operations }] };
        assert!(matches!(must_be_invalid(Ok(file.clone())), Outcome::Failed(_)));
        assert!(matches!(
            must_be_invalid(Err("no JSON".to_owned())),
            Outcome::Failed(_)
        ));
        file.insert("description", 1);
        assert_eq!(must_be_invalid(Ok(file)), Outcome::Passed);
    }
}
