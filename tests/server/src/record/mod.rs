//! A record of the forms of commands that clients send, for a reader who compares them with
//! MongoDB's rules. A form is a command without its values and the names of the application's fields.
//!
//! If the environment variable `MARULA_RECORD` names a folder, each process appends the forms that
//! its servers receive to a file there, each form once: `PACKAGE.TEST-BINARY.PID`. Commands with the comment `generated` are left out.

mod form;

use bson::Document;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

const FOLDER: &str = "MARULA_RECORD";
/// The comment of commands that a test generates at random, whose forms are too many for a reader.
const GENERATED: &str = "generated";

struct Recorder {
    file: File,
    known: HashSet<String>,
}

/// Notes the forms of a command, if the forms of this process are recorded.
pub(crate) fn note(command: &Document) {
    if command
        .get_str("comment")
        .is_ok_and(|comment| comment == GENERATED)
    {
        return;
    }
    static RECORDER: OnceLock<Option<Mutex<Recorder>>> = OnceLock::new();
    let Some(recorder) = RECORDER.get_or_init(|| Some(Mutex::new(open()?))) else {
        return;
    };
    let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    for form in form::of_command(command) {
        if recorder.known.insert(form.clone()) {
            // One write for each line, so that lines of other processes are not between its parts. A form
            // that cannot be written is missing in the record, and the command runs.
            let _ = recorder.file.write_all(format!("{form}\n").as_bytes());
        }
    }
}

fn open() -> Option<Recorder> {
    let folder = PathBuf::from(std::env::var_os(FOLDER)?);
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let program = std::env::current_exe().ok()?;
    let program = program.file_stem()?.to_string_lossy().into_owned();
    // Cargo appends a hash to the names of test binaries.
    let program = program.split('-').next().unwrap_or_default();
    let name = format!("{package}.{program}.{}", std::process::id());
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(name))
        .ok()?;
    Some(Recorder {
        file,
        known: HashSet::new(),
    })
}
