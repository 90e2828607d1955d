//! The arguments of an operation, taken individually so that unused arguments are detected.

use std::{sync::Arc, time::Duration};

use marula_driver::{
    ClientSession, ResumeToken,
    bson::{Bson, Document, Timestamp, from_document},
    options::{Collation, CursorType, Hint, ReadConcern, ReadPreference, TimeoutMode, WriteConcern},
};

use tokio::sync::OwnedMutexGuard;

use crate::unified::{
    entity::{Entities, settings},
    matcher::show,
    stop::{Step, failed},
};

/// The arguments that have not been taken.
#[derive(Debug)]
pub(crate) struct Args {
    operation: String,
    rest: Document,
    session: Option<OwnedMutexGuard<ClientSession>>,
}

/// An update: operators or a pipeline.
pub(crate) enum UpdateArgument {
    Operators(Document),
    Pipeline(Vec<Document>),
}

impl Args {
    pub(crate) fn new(operation: &str, arguments: Document) -> Self {
        Self {
            operation: operation.to_owned(),
            rest: arguments,
            session: None,
        }
    }

    /// Resolves the `session` argument, an entity name, and locks the session for the operation.
    pub(crate) async fn resolve_session(&mut self, entities: &Entities) -> Step {
        if let Some(Bson::String(id)) = self.rest.get("session") {
            let entity = entities.session(id)?;
            self.session = Some(Arc::clone(&entity.session).lock_owned().await);
        }
        Ok(())
    }

    /// The session of the operation.
    pub(crate) fn session(&mut self) -> Option<OwnedMutexGuard<ClientSession>> {
        self.rest.remove("session");
        self.session.take()
    }

    /// Checks that all arguments have been taken.
    ///
    /// # Errors
    /// An argument is unknown.
    pub(crate) fn finish(self) -> Step {
        match self.rest.keys().next() {
            Some(key) => failed(format!("{}: unknown argument \"{key}\"", self.operation)),
            None => Ok(()),
        }
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Bson> {
        self.rest.remove(key)
    }

    /// A required argument.
    pub(crate) fn required<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self, &str) -> Step<Option<T>>,
    ) -> Step<T> {
        match read(self, key)? {
            Some(value) => Ok(value),
            None => failed(format!("{}: missing argument \"{key}\"", self.operation)),
        }
    }

    fn typed<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&Bson) -> Option<T>,
    ) -> Step<Option<T>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        match read(&value) {
            Some(value) => Ok(Some(value)),
            None => failed(format!(
                "{}: the argument \"{key}\" must be {wanted}, found {}",
                self.operation,
                show(&value)
            )),
        }
    }

    pub(crate) fn bson(&mut self, key: &str) -> Step<Option<Bson>> {
        Ok(self.take(key))
    }

    pub(crate) fn string(&mut self, key: &str) -> Step<Option<String>> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn boolean(&mut self, key: &str) -> Step<Option<bool>> {
        self.typed(key, "a boolean", Bson::as_bool)
    }

    pub(crate) fn integer(&mut self, key: &str) -> Step<Option<i64>> {
        self.typed(key, "an integer", as_i64)
    }

    pub(crate) fn u64(&mut self, key: &str) -> Step<Option<u64>> {
        self.typed(key, "a non-negative integer", |value| {
            u64::try_from(as_i64(value)?).ok()
        })
    }

    pub(crate) fn u32(&mut self, key: &str) -> Step<Option<u32>> {
        self.typed(key, "a non-negative integer", |value| {
            u32::try_from(as_i64(value)?).ok()
        })
    }

    pub(crate) fn milliseconds(&mut self, key: &str) -> Step<Option<Duration>> {
        Ok(self.u64(key)?.map(Duration::from_millis))
    }

    pub(crate) fn seconds(&mut self, key: &str) -> Step<Option<Duration>> {
        Ok(self.u64(key)?.map(Duration::from_secs))
    }

    pub(crate) fn document(&mut self, key: &str) -> Step<Option<Document>> {
        self.typed(key, "a document", |value| value.as_document().cloned())
    }

    pub(crate) fn documents(&mut self, key: &str) -> Step<Option<Vec<Document>>> {
        self.typed(key, "an array of documents", |value| {
            value
                .as_array()?
                .iter()
                .map(|element| element.as_document().cloned())
                .collect()
        })
    }

    pub(crate) fn timeout_mode(&mut self, key: &str) -> Step<Option<TimeoutMode>> {
        match self.string(key)?.as_deref() {
            None => Ok(None),
            Some("cursorLifetime") => Ok(Some(TimeoutMode::CursorLifetime)),
            Some("iteration") => Ok(Some(TimeoutMode::Iteration)),
            Some(other) => failed(format!("invalid {key} \"{other}\"")),
        }
    }

    pub(crate) fn hint(&mut self, key: &str) -> Step<Option<Hint>> {
        self.typed(key, "an index name or key pattern", |value| match value {
            Bson::String(name) => Some(Hint::from(name.as_str())),
            Bson::Document(keys) => Some(Hint::from(keys.clone())),
            _ => None,
        })
    }

    pub(crate) fn collation(&mut self, key: &str) -> Step<Option<Collation>> {
        self.typed(key, "a collation", |value| {
            from_document(value.as_document()?).ok()
        })
    }

    pub(crate) fn timestamp(&mut self, key: &str) -> Step<Option<Timestamp>> {
        self.typed(key, "a timestamp", Bson::as_timestamp)
    }

    pub(crate) fn resume_token(&mut self, key: &str) -> Step<Option<ResumeToken>> {
        self.typed(key, "a document", |value| {
            from_document(value.as_document()?).ok()
        })
    }

    pub(crate) fn cursor_type(&mut self, key: &str) -> Step<Option<CursorType>> {
        self.typed(key, "a cursor type", |value| {
            Some(match value.as_str()? {
                "nonTailable" => CursorType::NonTailable,
                "tailable" => CursorType::Tailable,
                "tailableAwait" => CursorType::TailableAwait,
                _ => return None,
            })
        })
    }

    pub(crate) fn update(&mut self, key: &str) -> Step<Option<UpdateArgument>> {
        match self.rest.get(key) {
            Some(Bson::Array(_)) => Ok(self.documents(key)?.map(UpdateArgument::Pipeline)),
            _ => Ok(self.document(key)?.map(UpdateArgument::Operators)),
        }
    }

    pub(crate) fn read_concern(&mut self, key: &str) -> Step<Option<ReadConcern>> {
        self.document(key)?
            .map(|d| settings::read_concern(&d))
            .transpose()
    }

    pub(crate) fn read_preference(&mut self, key: &str) -> Step<Option<ReadPreference>> {
        self.document(key)?
            .map(|d| settings::read_preference(&d))
            .transpose()
    }

    pub(crate) fn write_concern(&mut self, key: &str) -> Step<Option<WriteConcern>> {
        self.document(key)?
            .map(|d| settings::write_concern(&d))
            .transpose()
    }
}

fn as_i64(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
        _ => None,
    }
}

/// Passes optional arguments to the setters of an action: `setter <- reader("argument")`.
macro_rules! set {
    ($action:ident, $args:ident; $($setter:ident <- $reader:ident($key:literal)),* $(,)?) => {
        $(if let Some(value) = $args.$reader($key)? {
            $action = $action.$setter(value);
        })*
    };
}
pub(crate) use set;

/// Passes the concern and the preference of a read to its action. An operation without them rejects these arguments as
/// unknown.
macro_rules! set_read {
    ($action:ident, $args:ident) => {
        set!($action, $args;
            read_concern <- read_concern("readConcern"), read_preference <- read_preference("readPreference"));
    };
}
pub(crate) use set_read;

/// As [`set_read`], for the concern of a write.
macro_rules! set_write {
    ($action:ident, $args:ident) => {
        set!($action, $args; write_concern <- write_concern("writeConcern"));
    };
}
pub(crate) use set_write;

/// Completes an action with its session and its timeout, after checking that all arguments have
/// been taken.
macro_rules! finish {
    ($action:ident, $args:ident, $session:ident) => {
        if let Some(session) = $session.as_deref_mut() {
            $action = $action.session(session);
        }
        if let Some(timeout) = $args.milliseconds("timeoutMS")? {
            $action = $action.timeout(timeout);
        }
        $args.finish()?;
    };
}
pub(crate) use finish;

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;
    use crate::unified::stop::Stop;

    #[test]
    fn unused_arguments_are_errors() {
        let mut args = Args::new("find", doc! { "filter": {}, "limit": 1_i64 });
        assert!(args.required("filter", Args::document).is_ok());
        assert_eq!(args.integer("limit").expect("a number"), Some(1));
        assert!(args.finish().is_ok());
        assert!(matches!(
            Args::new("find", doc! { "foo": 1 }).finish(),
            Err(Stop::Failed(_))
        ));
    }

    #[test]
    fn types_are_checked() {
        let mut args = Args::new("find", doc! { "filter": 1, "limit": -1 });
        assert!(args.document("filter").is_err());
        assert!(args.u64("limit").is_err());
        assert!(args.required("sort", Args::document).is_err());
    }
}
