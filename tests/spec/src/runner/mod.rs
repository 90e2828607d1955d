//! The test runner: arguments, skipped cases, timeouts and reports.

mod gate;
mod page;
pub mod report;
pub mod skips;
pub mod watch;

use std::{
    collections::HashMap,
    env, fs,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{
    Collect,
    case::{Case, Outcome},
    files,
};
use gate::Gate;
use report::Record;
use skips::Skips;

type Records = Arc<Mutex<Vec<Record>>>;

/// Runs the selected cases. Fails if a case fails, or if an entry of `skips.toml` matches no case.
pub fn main(suites: &[Collect]) -> ExitCode {
    let args = Arguments::from_args();
    let root = files::root();
    let cases: Vec<Case> = match &root {
        Some(root) => suites.iter().flat_map(|collect| collect(root)).collect(),
        None if env::var_os("SPEC_TESTS_DIR").is_some() => {
            eprintln!("SPEC_TESTS_DIR is not a folder");
            return ExitCode::FAILURE;
        }
        None => {
            println!("{}", files::ADVICE);
            Vec::new()
        }
    };
    let (skips, selection) = match (Skips::parse(skips::LIST), Selection::from_environment()) {
        (Ok(skips), Ok(selection)) => (skips, selection),
        (Err(why), _) | (_, Err(why)) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let records = Records::default();
    let trials = trials(cases, &skips, selection, &records);
    let conclusion = libtest_mimic::run(&args, trials);
    if args.list {
        return conclusion.exit_code();
    }
    let records = std::mem::take(&mut *records.lock().unwrap_or_else(PoisonError::into_inner));
    // A filter for tests of other packages selects no case, and leaves the reports as they are.
    if !records.is_empty() || root.is_none() {
        print!("{}", report::summary(&records));
        // A binary that was copied out of cargo's target folder has no place for it.
        if let Err(why) = write_reports(&records, selection) {
            eprintln!("warning: cannot write the report: {why}");
        }
    }
    let unmatched = if root.is_some() {
        skips.unmatched()
    } else {
        Vec::new()
    };
    for name in &unmatched {
        eprintln!("skips.toml: no case matches {name}");
    }
    if unmatched.is_empty() {
        conclusion.exit_code()
    } else {
        ExitCode::FAILURE
    }
}

/// The value of `SPEC_TIMED`: which of the cases with short time limits are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// All cases.
    All,
    /// The cases without short time limits.
    Skip,
    /// The cases with short time limits. The report contains the cases of the report before as well.
    Only,
}

impl Selection {
    fn from_environment() -> Result<Self, String> {
        match env::var("SPEC_TIMED").as_deref() {
            Err(_) | Ok("") => Ok(Self::All),
            Ok("skip") => Ok(Self::Skip),
            Ok("only") => Ok(Self::Only),
            Ok(other) => Err(format!(
                "SPEC_TIMED must be \"skip\" or \"only\", found \"{other}\""
            )),
        }
    }

    fn contains(self, case: &Case) -> bool {
        match self {
            Self::All => true,
            Self::Skip => !case.is_timed,
            Self::Only => case.is_timed,
        }
    }
}

/// Creates tests with unique names for the selected cases.
fn trials(cases: Vec<Case>, skips: &Skips, selection: Selection, records: &Records) -> Vec<Trial> {
    let mut used: HashMap<String, usize> = HashMap::new();
    let mut trials = Vec::with_capacity(cases.len());
    for case in cases {
        let mut name = case.name();
        let skip = skips.reason(&name).map(str::to_owned);
        let uses = used.entry(name.clone()).or_default();
        *uses += 1;
        if *uses > 1 {
            name.push_str(&format!(" #{uses}"));
        }
        if !selection.contains(&case) {
            continue;
        }
        let records = Arc::clone(records);
        trials.push(Trial::ignorable_test(name, move || {
            let record = run(case, skip);
            let outcome = record.outcome.clone();
            records
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(record);
            completion(outcome)
        }));
    }
    trials
}

/// Admits the cases.
static GATE: Gate = Gate::new();

/// Runs a case unless it is skipped.
fn run(case: Case, skip: Option<String>) -> Record {
    let start = Instant::now();
    let mut record = Record::of(&case, Outcome::Passed, 0.0);
    record.outcome = match skip {
        Some(reason) => Outcome::Skipped(reason),
        None => {
            let _admitted = GATE.enter(case.is_timed);
            watch::run(case.run, watch::LIMIT)
        }
    };
    record.seconds = start.elapsed().as_secs_f64();
    record
}

/// Pending and skipped cases are reported as ignored.
fn completion(outcome: Outcome) -> Result<Completion, Failed> {
    match outcome {
        Outcome::Passed => Ok(Completion::Completed),
        Outcome::Failed(why) => Err(Failed::from(why)),
        Outcome::Pending(why) => Ok(Completion::ignored_with(format!("pending: {why}"))),
        Outcome::Skipped(why) => Ok(Completion::ignored_with(format!("skipped: {why}"))),
    }
}

/// Writes both reports to cargo's target folder, each atomically.
fn write_reports(records: &[Record], selection: Selection) -> Result<(), String> {
    let mut report = report::to_json(records);
    let folder = target_folder().ok_or("target folder not found")?;
    if selection == Selection::Only
        && let Ok(earlier) = fs::read_to_string(folder.join("spec-report.json"))
        && let Ok(earlier) = serde_json::from_str(&earlier)
    {
        report = report::merge(&earlier, &report);
    }
    for (name, text) in [
        ("spec-report.json", format!("{report:#}\n")),
        ("spec-report.html", page::page(&report)),
    ] {
        let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The closest parent of the test binary with cargo's `CACHEDIR.TAG`.
fn target_folder() -> Option<PathBuf> {
    let binary = env::current_exe().ok()?;
    binary
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .or_else(|| binary.ancestors().find(|folder| folder.ends_with("target")))
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(outcome: Outcome) -> Case {
        Case::new("test", "suite/tests/file.json", "case", move || outcome)
    }

    #[test]
    fn outcomes_are_counted_separately() {
        let count = |outcome: Outcome| completion(run(case(outcome), None).outcome);
        assert!(matches!(count(Outcome::Passed), Ok(Completion::Completed)));
        let failed = count(Outcome::Failed("why".into())).err().unwrap();
        assert_eq!(failed.message(), Some("why"));
        for outcome in [Outcome::Pending("p".into()), Outcome::Skipped("s".into())] {
            assert!(matches!(count(outcome), Ok(Completion::Ignored { .. })));
        }
    }

    #[test]
    fn a_skipped_case_is_not_run() {
        let record = run(case(Outcome::Failed("it ran".into())), Some("why".into()));
        assert_eq!(record.outcome, Outcome::Skipped("why".into()));
    }

    #[test]
    fn names_are_unique_and_skips_match_the_original_name() {
        let skips = Skips::parse("[[skip]]\nname = \"suite/file::case\"\nreason = \"why\"").unwrap();
        let cases = vec![case(Outcome::Passed), case(Outcome::Passed)];
        let trials = trials(cases, &skips, Selection::All, &Records::default());
        let names: Vec<&str> = trials.iter().map(Trial::name).collect();
        assert_eq!(names, ["suite/file::case", "suite/file::case #2"]);
        assert!(skips.unmatched().is_empty());
    }

    #[test]
    fn cases_with_short_time_limits_can_be_run_alone() {
        let skips = Skips::parse("").unwrap();
        for (selection, expected) in [
            (Selection::All, &["suite/file::case", "suite/file::case #2"][..]),
            (Selection::Skip, &["suite/file::case"]),
            (Selection::Only, &["suite/file::case #2"]),
        ] {
            let timed = Case {
                is_timed: true,
                ..case(Outcome::Passed)
            };
            let trials = trials(
                vec![case(Outcome::Passed), timed],
                &skips,
                selection,
                &Records::default(),
            );
            let names: Vec<&str> = trials.iter().map(Trial::name).collect();
            assert_eq!(names, expected, "{selection:?}");
        }
    }
}
