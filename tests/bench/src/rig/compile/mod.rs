//! `compile`: the time of `cargo check` for a crate with many models and queries, with the ODM, with the ODM and serde, and
//! with serde and documents alone. Linux only.

mod source;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Serialize;

use self::source::{Change, FIELDS, Form, MODELS, QUERIES};
use super::{
    Failure, Paths,
    clients::{cargo, succeed},
    processes::children_seconds,
};

/// Limit of the CPU time of a check with the ODM, relative to that with serde alone.
const MAX_SHARE: f64 = 0.8;

/// The limit for models that also have serde's derives.
const MAX_SHARE_AND_SERDE: f64 = 1.45;

/// Measurements of each change. The median is used.
const ROUNDS: usize = 5;

/// CPU seconds of `cargo check`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Seconds {
    /// All of the crate, without its dependencies.
    whole: f64,
    /// After a function body was changed.
    body: f64,
    /// After a field was added to a model.
    field: f64,
}

/// A row of the table: its name, and its part of [`Seconds`].
type Row = (&'static str, fn(&Seconds) -> f64);

const ROWS: [Row; 3] = [
    ("the whole crate", |of| of.whole),
    ("a function body changed", |of| of.body),
    ("a field added", |of| of.field),
];

/// Measures the crates, and prints and writes their times. Returns `false` if the limit is
/// exceeded.
pub(super) fn run() -> Result<bool, Failure> {
    let paths = Paths::find()?;
    let sample = |form, name: &str| Sample {
        form,
        folder: paths.out.join("compile").join(name),
        odm: paths.root.join("odm"),
    };
    let serde_only = sample(Form::SerdeOnly, "serde");
    let typed = sample(Form::Typed, "typed");
    let both = sample(Form::TypedAndSerde, "both");
    // They share their dependencies.
    let target = paths.out.join("compile/target");
    let lock = paths.root.join("Cargo.lock");
    let samples = [serde_only, typed, both];
    for sample in &samples {
        sample.create(&lock)?;
        sample.check(&target)?;
    }
    // In turn, because the speed of a machine changes within minutes.
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for (sample, seconds) in samples.iter().zip(&mut rounds) {
            seconds.push(sample.measure(round, &target)?);
        }
    }
    let all = rounds.map(|rounds| medians(&rounds));
    let text = table(&all)?;
    fs::write(paths.out.join("compile.md"), &text)?;
    println!("{text}\nwritten to {}", paths.out.join("compile.md").display());
    Ok(within_limits(&all))
}

/// Whether the seconds with the ODM, alone and with serde, are within the limits.
fn within_limits([serde_only, typed, both]: &[Seconds; 3]) -> bool {
    let is_within = |seconds: &Seconds, share: f64| {
        ROWS.iter()
            .all(|(_, part)| part(seconds) <= share * part(serde_only))
    };
    is_within(typed, MAX_SHARE) && is_within(both, MAX_SHARE_AND_SERDE)
}

fn table(all: &[Seconds; 3]) -> Result<String, Failure> {
    let mut text = format!(
        "{MODELS} models of {FIELDS} fields, {} queries; CPU seconds of cargo check, medians of {ROUNDS}\n\n\
         | | serde and documents | marula | ratio | marula and serde | ratio |\n|---|---:|---:|---:|---:|---:|\n",
        MODELS * QUERIES
    );
    for (change, part) in ROWS {
        let [without, typed, both] = all.each_ref().map(part);
        writeln!(
            text,
            "| {change} | {without:.2} | {typed:.2} | {:.2} | {both:.2} | {:.2} |",
            typed / without,
            both / without
        )?;
    }
    writeln!(
        text,
        "\nlimits of the ratios: {MAX_SHARE} and {MAX_SHARE_AND_SERDE}: {}",
        if within_limits(all) { "ok" } else { "EXCEEDED" }
    )?;
    Ok(text)
}

/// A crate to check.
struct Sample {
    form: Form,
    folder: PathBuf,
    /// The package `marula`, which all depend on, so that the same crates are loaded.
    odm: PathBuf,
}

impl Sample {
    fn create(&self, lock: &Path) -> Result<(), Failure> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(self.folder.join("src"))?;
        // The package name is that of the folder, so that they do not replace each other.
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"models-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\
             marula = {{ path = {:?} }}\n",
            self.odm
        );
        fs::write(self.folder.join("Cargo.toml"), manifest)?;
        fs::copy(lock, self.folder.join("Cargo.lock"))?;
        fs::write(self.folder.join("src/lib.rs"), Form::root())?;
        for n in 0..MODELS {
            self.write(n, Change::None)?;
        }
        Ok(())
    }

    /// Each change once. At the end the crate has been checked as it was created.
    fn measure(&self, round: usize, target: &Path) -> Result<Seconds, Failure> {
        let changed = round % MODELS;
        self.write(changed, Change::Body(round))?;
        let body = self.check(target)?;
        self.write(changed, Change::Field(round))?;
        let field = self.check(target)?;
        // Without its incremental state, the crate is checked as a whole.
        self.remove_incremental(target)?;
        self.write(changed, Change::None)?;
        let whole = self.check(target)?;
        Ok(Seconds { whole, body, field })
    }

    /// Removes the state of this crate, and not that of the others.
    fn remove_incremental(&self, target: &Path) -> Result<(), Failure> {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        for folder in fs::read_dir(target.join("debug/incremental"))? {
            let folder = folder?;
            if folder
                .file_name()
                .to_string_lossy()
                .starts_with(&format!("models_{name}-"))
            {
                fs::remove_dir_all(folder.path())?;
            }
        }
        Ok(())
    }

    fn write(&self, number: usize, change: Change) -> Result<(), Failure> {
        let path = self.folder.join(format!("src/m{number}.rs"));
        Ok(fs::write(path, self.form.module(number, change))?)
    }

    /// CPU seconds of a check.
    fn check(&self, target: &Path) -> Result<f64, Failure> {
        let mut check = Command::new(cargo().get_program());
        check
            .args(["check", "--quiet", "--target-dir"])
            .arg(target)
            .current_dir(&self.folder)
            .env("CARGO_INCREMENTAL", "1");
        for variable in ["CARGO_TARGET_DIR", "RUSTFLAGS"] {
            check.env_remove(variable);
        }
        let before = children_seconds()?;
        succeed(&mut check)?;
        Ok(children_seconds()? - before)
    }
}

fn medians(rounds: &[Seconds]) -> Seconds {
    let of = |part: fn(&Seconds) -> f64| median(rounds.iter().map(part).collect());
    Seconds {
        whole: of(|seconds| seconds.whole),
        body: of(|seconds| seconds.body),
        field: of(|seconds| seconds.field),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(whole: f64, body: f64, field: f64) -> Seconds {
        Seconds { whole, body, field }
    }

    #[test]
    fn one_exceeded_ratio_is_reported() {
        let base = seconds(9.0, 1.0, 2.0);
        let within = |typed, both| within_limits(&[base, typed, both]);
        assert!(within(seconds(7.2, 0.8, 1.6), seconds(13.0, 1.45, 2.9)));
        assert!(!within(seconds(7.21, 0.8, 1.6), base));
        assert!(!within(seconds(1.0, 0.81, 1.6), base));
        assert!(!within(seconds(1.0, 0.8, 1.6), seconds(9.0, 1.0, 2.91)));
        let text = table(&[base, seconds(7.2, 0.8, 3.0), base]).unwrap();
        assert!(
            text.contains("| a field added | 2.00 | 3.00 | 1.50 | 2.00 | 1.00 |"),
            "{text}"
        );
        assert!(text.ends_with("EXCEEDED\n"), "{text}");
    }

    #[test]
    fn the_median_ignores_the_order() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }
}
