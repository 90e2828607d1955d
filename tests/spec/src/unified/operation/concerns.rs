//! The arguments `readConcern`, `readPreference` and `writeConcern`, which any operation of a database or collection can have: the
//! handle of the operation gets them.

use marula_driver::{
    Collection, Database,
    bson::Document,
    options::{ReadConcern, ReadPreference, WriteConcern},
};

use super::args::Args;
use crate::unified::stop::Step;

/// A handle that passes its concerns and its read preference to operations.
pub(super) trait Handle: Clone {
    fn reading_with(&self, concern: ReadConcern) -> Self;
    fn preferring(&self, preference: ReadPreference) -> Self;
    fn writing_with(&self, concern: WriteConcern) -> Self;
}

macro_rules! handles {
    ($($handle:ty),*) => {
        $(impl Handle for $handle {
            fn reading_with(&self, concern: ReadConcern) -> Self {
                self.with_read_concern(concern)
            }

            fn preferring(&self, preference: ReadPreference) -> Self {
                self.with_read_preference(preference)
            }

            fn writing_with(&self, concern: WriteConcern) -> Self {
                self.with_write_concern(concern)
            }
        })*
    };
}
handles!(Database, Collection<Document>);

/// Takes the arguments. Commands of the test do not use what their database has, so they keep theirs.
pub(super) fn apply<H: Handle>(handle: &H, operation: &str, args: &mut Args) -> Step<H> {
    let mut handle = handle.clone();
    if matches!(
        operation,
        "runCommand" | "runCursorCommand" | "createCommandCursor"
    ) {
        return Ok(handle);
    }
    if let Some(concern) = args.read_concern("readConcern")? {
        handle = handle.reading_with(concern);
    }
    if let Some(preference) = args.read_preference("readPreference")? {
        handle = handle.preferring(preference);
    }
    if let Some(concern) = args.write_concern("writeConcern")? {
        handle = handle.writing_with(concern);
    }
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use marula_driver::{Client, bson::doc};

    use super::*;

    #[tokio::test]
    async fn handles_get_the_arguments() {
        let client = Client::connect("mongodb://127.0.0.1:1").await.expect("a client");
        let database = client.database("d");
        let arguments = || {
            Args::new(
                "find",
                doc! { "readConcern": { "level": "local" }, "readPreference": { "mode": "nearest" }, "writeConcern": { "w": 1 } },
            )
        };
        let mut args = arguments();
        let with = apply(&database, "aggregate", &mut args).expect("applied");
        assert!(args.finish().is_ok());
        let with = format!("{with:?}");
        assert!(with.contains("Nearest") && with.contains("local"), "{with}");
        let mut args = arguments();
        apply(&database, "runCommand", &mut args).expect("ignored");
        assert!(args.finish().is_err());
    }
}
