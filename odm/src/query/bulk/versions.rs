//! The writes of a bulk write on one collection, in runs that show the version conflicts of replacements.
//!
//! The reply to an `update` command contains the number of documents that all its statements matched. A
//! replacement with a version matches at most one, so the writes are sent in runs in which either all
//! statements that match documents are such replacements (and saves, which match or insert one), or
//! none is. A run has at most one replacement of a document, so that the stored document shows whether
//! the replacement was performed.

use std::collections::HashMap;

use crate::{
    base::bson::{Bson, Document, RawDocumentBuf, decode_document, doc, to_vec},
    driver::{self, WriteModel, options::ServerRequirement},
    query::{handle::protection::SAFE_CONTENT, write::outdated::Upgrade},
};

/// A write that can be sent.
pub(in crate::query) struct Built<T> {
    pub(in crate::query) model: T,
    pub(in crate::query) effect: Effect,
    /// The server version that the write needs.
    pub(in crate::query) requirement: Option<ServerRequirement>,
}

impl<T> Built<T> {
    pub(in crate::query) fn map<U>(self, change: impl FnOnce(T) -> U) -> Built<U> {
        Built {
            model: change(self.model),
            effect: self.effect,
            requirement: self.requirement,
        }
    }
}

/// What a write adds to the number of matched documents.
pub(in crate::query) enum Effect {
    /// Nothing: an insert.
    MatchesNone,
    /// Nothing: a delete. It follows replacements in another run, whose documents are read.
    Deletes,
    /// Any number: an update, a replacement without a version.
    Matches,
    /// The update of what `Matches` names, after the upgrade of documents of older versions.
    MatchesUpgraded(Box<Upgrade>),
    /// One, or an upserted one: a save of a document of version 0. A conflict is rejected as a duplicate key.
    /// Contains the [key of the id](id_key).
    Saves(Option<Vec<u8>>),
    /// One, unless the stored document has another version, or does not exist.
    Replaces(Box<Replaced>),
}

impl Effect {
    pub(in crate::query) fn matches_one(&self) -> bool {
        matches!(self, Effect::Saves(_) | Effect::Replaces(_))
    }

    /// The key of the id of the document that is replaced or saved, if it is known.
    fn id_key(&self) -> Option<Vec<u8>> {
        match self {
            Effect::Saves(id) => id.clone(),
            Effect::Replaces(replaced) => id_key(&replaced.sent),
            Effect::MatchesNone | Effect::Deletes | Effect::Matches | Effect::MatchesUpgraded(_) => None,
        }
    }
}

/// A replacement with a version, or a save of a document that was stored before.
pub(in crate::query) struct Replaced {
    /// The filter without the version.
    pub(in crate::query) filter: Document,
    /// Whether the filter has no condition but that on `_id`.
    pub(in crate::query) is_by_id: bool,
    /// Whether it is a conflict that no document matches the filter: the document was deleted.
    pub(in crate::query) must_exist: bool,
    /// A field of which the stored value is kept.
    pub(in crate::query) kept: Option<&'static str>,
    pub(in crate::query) sent: RawDocumentBuf,
}

impl Replaced {
    /// The id of the replacement, if it has one.
    pub(in crate::query) fn id(&self) -> Option<Bson> {
        Bson::try_from(self.sent.get("_id").ok().flatten()?).ok()
    }

    /// The id, if the filter finds the document by it alone.
    pub(in crate::query) fn only_id(&self) -> Option<Bson> {
        self.id().filter(|_| self.is_by_id)
    }

    /// The filter without the version, for the document with the id of the replacement.
    pub(in crate::query) fn finding(&self) -> Document {
        let mut filter = self.filter.clone();
        let Some(id) = self.id() else {
            return filter;
        };
        if filter.contains_key("_id") {
            return doc! { "$and": [filter, { "_id": id }] };
        }
        filter.insert("_id", id);
        filter
    }

    /// Whether the stored document, which has the id of the replacement, is the replacement. The ids can
    /// have different encodings. The server replaces empty timestamps by the current time.
    pub(in crate::query) fn is(&self, mut stored: Document) -> driver::Result<bool> {
        let sent = decode_document(self.sent.as_bytes())?;
        stored.remove("_id");
        if !sent.contains_key(SAFE_CONTENT) {
            stored.remove(SAFE_CONTENT);
        }
        let mut expected = Document::new();
        for (name, value) in sent.into_iter().filter(|(name, _)| name != "_id") {
            let filled = match (&value, stored.get(&name)) {
                (Bson::Timestamp(empty), Some(current @ Bson::Timestamp(_)))
                    if (empty.time, empty.increment) == (0, 0) =>
                {
                    Some(current.clone())
                }
                _ => None,
            };
            expected.insert(name, filled.unwrap_or(value));
        }
        if let Some(field) = self.kept
            && let Some(value) = stored.get(field)
        {
            expected.insert(field, value.clone());
        }
        // NaN is equal to itself in this form.
        Ok(to_vec(&expected)? == to_vec(&stored)?)
    }
}

/// The writes of one call of the driver.
pub(in crate::query) struct Run {
    /// The position of the first in the bulk write.
    pub(in crate::query) at: usize,
    pub(in crate::query) models: Vec<WriteModel>,
    pub(in crate::query) effects: Vec<Effect>,
    /// Whether the run has one write.
    is_single: bool,
    has_updates: bool,
    pub(in crate::query) has_replacements: bool,
    /// The keys of the ids of the documents that are saved (`false`) and replaced (`true`).
    ids: HashMap<Vec<u8>, bool>,
}

/// Divides writes into runs. The server performs only one update or delete of encrypted documents in a command.
pub(in crate::query) fn runs_of(built: Vec<Built<WriteModel>>, is_encrypted: bool) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, Built { model, effect, .. }) in built.into_iter().enumerate() {
        let is_update = matches!(effect, Effect::Matches | Effect::MatchesUpgraded(_));
        let is_replacement = matches!(effect, Effect::Replaces(_));
        let is_last = is_update || matches!(effect, Effect::Deletes);
        let id = effect.id_key();
        let is_single = is_encrypted && !matches!(effect, Effect::MatchesNone);
        let fits = |run: &Run| {
            if is_single || run.is_single {
                return false;
            }
            let same = id.as_ref().and_then(|id| run.ids.get(id));
            let is_same = same.is_some_and(|is_replaced| *is_replaced || is_replacement);
            !(is_same || is_last && run.has_replacements || is_replacement && run.has_updates)
        };
        if !runs.last().is_some_and(fits) {
            runs.push(Run {
                at,
                models: Vec::new(),
                effects: Vec::new(),
                is_single,
                has_updates: false,
                has_replacements: false,
                ids: HashMap::new(),
            });
        }
        if let Some(run) = runs.last_mut() {
            run.models.push(model);
            run.effects.push(effect);
            run.has_updates |= is_update;
            run.has_replacements |= is_replacement;
            if let Some(id) = id {
                run.ids.insert(id, is_replacement);
            }
        }
    }
    runs
}

/// An id as a key of a map: ids are equal if their bytes are.
pub(in crate::query) fn key(id: &Bson) -> driver::Result<Vec<u8>> {
    Ok(to_vec(&doc! { "": id })?)
}

/// The key of the id of a document. `None` if it has no id.
pub(in crate::query) fn id_key(document: &RawDocumentBuf) -> Option<Vec<u8>> {
    let id = Bson::try_from(document.get("_id").ok().flatten()?).ok()?;
    key(&id).ok()
}
