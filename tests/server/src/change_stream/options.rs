//! The options of the `$changeStream` stage, and the namespaces it watches.

use super::token::{Position, Token};
use crate::command::args::Args;
use crate::error::{Error, Result, code};
use crate::storage::Namespace;
use bson::{Document, Timestamp};

/// The namespaces whose changes a stream watches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scope {
    Collection(Namespace),
    Database(String),
    Cluster,
}

/// `fullDocument` and `fullDocumentBeforeChange`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Image {
    /// `off`, and the `default` of `fullDocument`.
    Off,
    /// `updateLookup`: the document as it is when the event is returned.
    Lookup,
    /// `whenAvailable`: the pre- or post-image; null if it was not recorded.
    WhenAvailable,
    /// `required`: the pre- or post-image; an error if it was not recorded.
    Required,
}

/// The options of a stream that have an effect in this server.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(super) full_document: Image,
    /// `fullDocumentBeforeChange`
    pub(super) before_change: Image,
    /// `showExpandedEvents`
    pub(super) expanded: bool,
    /// The token after which the stream starts; `None` for the time of opening.
    pub(super) start: Option<Token>,
    pub(super) scope: Scope,
}

impl Options {
    pub(super) fn parse(spec: &Document, db: &str, collection: Option<&Namespace>) -> Result<Options> {
        let args = Args::new("$changeStream", spec);
        args.only(&[
            "fullDocument",
            "fullDocumentBeforeChange",
            "resumeAfter",
            "startAfter",
            "startAtOperationTime",
            "allChangesForCluster",
            "showExpandedEvents",
            "showSystemEvents",
            "showMigrationEvents",
            "matchCollectionUUIDForUpdateLookup",
        ])?;
        let invalid = |field: &str, value: &str| {
            Error::bad_value(format!(
                "Enumeration value '{value}' for field '$changeStream.{field}' is not a valid value."
            ))
        };
        let full_document = match args.string("fullDocument")? {
            None | Some("default") => Image::Off,
            Some("updateLookup") => Image::Lookup,
            Some("whenAvailable") => Image::WhenAvailable,
            Some("required") => Image::Required,
            Some(other) => return Err(invalid("fullDocument", other)),
        };
        let before_change = match args.string("fullDocumentBeforeChange")? {
            None | Some("off") => Image::Off,
            Some("whenAvailable") => Image::WhenAvailable,
            Some("required") => Image::Required,
            Some(other) => return Err(invalid("fullDocumentBeforeChange", other)),
        };
        let cluster = args.flag("allChangesForCluster", false)?;
        Ok(Options {
            full_document,
            before_change,
            expanded: args.flag("showExpandedEvents", false)?,
            start: start(&args)?,
            scope: scope(cluster, db, collection)?,
        })
    }
}

/// Parses `resumeAfter`, `startAfter` and `startAtOperationTime`.
fn start(args: &Args<'_>) -> Result<Option<Token>> {
    let (after, start) = (args.document("resumeAfter")?, args.document("startAfter")?);
    match (after, start, args.get("startAtOperationTime")) {
        (None, None, None) => Ok(None),
        (Some(token), None, None) => {
            let token = Token::parse(token)?;
            if token.position == Position::Invalidate {
                return Err(Error::new(
                    code::INVALID_RESUME_TOKEN,
                    "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.",
                ));
            }
            Ok(Some(token))
        }
        (None, Some(token), None) => Token::parse(token).map(Some),
        (None, None, Some(bson::Bson::Timestamp(time))) => Ok(Some(Token::new(*time, Position::Before))),
        (None, None, Some(_)) => Err(Error::type_mismatch(
            "BSON field '$changeStream.startAtOperationTime' is the wrong type, expected type 'timestamp'",
        )),
        _ => Err(Error::new(
            40674,
            "Only one type of resume option is allowed, but multiple were found.",
        )),
    }
}

/// The scope of a stream. `cluster`: `allChangesForCluster`. `collection`: `None` for
/// `aggregate: 1`.
fn scope(cluster: bool, db: &str, collection: Option<&Namespace>) -> Result<Scope> {
    let invalid = |message: String| Error::new(code::INVALID_NAMESPACE, message);
    match collection {
        _ if cluster && (db != "admin" || collection.is_some()) => Err(Error::new(
            code::INVALID_OPTIONS,
            "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection name",
        )),
        None if cluster => Ok(Scope::Cluster),
        _ if matches!(db, "admin" | "config" | "local") => Err(invalid(format!(
            "$changeStream may not be opened on the internal {db} database"
        ))),
        Some(namespace) if namespace.collection.starts_with("system.") => Err(invalid(format!(
            "$changeStream may not be opened on the internal {namespace} collection"
        ))),
        Some(namespace) => Ok(Scope::Collection(namespace.clone())),
        None => Ok(Scope::Database(db.to_owned())),
    }
}

impl Scope {
    /// Whether changes of the namespace are watched.
    pub(super) fn contains(&self, namespace: &Namespace) -> bool {
        match self {
            Scope::Collection(watched) => watched == namespace,
            Scope::Database(database) => *database == namespace.database,
            Scope::Cluster => !matches!(namespace.database.as_str(), "admin" | "config" | "local"),
        }
    }
}

/// The high-water mark token of a time: after all events up to it.
pub(super) fn high_water_mark(time: Timestamp) -> Token {
    Token::new(time, Position::HighWater)
}
