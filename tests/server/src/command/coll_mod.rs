//! `collMod`.

use super::args::Args;
use super::create::{check_expiry, check_images, check_validator, set_validator};
use super::indexes::{by_pattern, record_change};
use super::{Call, encrypted_fields, timeseries, view};
use crate::error::{Error, Result, code};
use crate::refusal::ServerProfile;
use crate::refusal::collections as rows;
use crate::refusal::timeseries as timeseries_rows;
use crate::storage::Collection;
use crate::value::format;
use bson::{Bson, Document, doc};

/// The options that change something, apart from `index`.
const OPTIONS: [&str; 7] = [
    "validator",
    "validationLevel",
    "validationAction",
    "changeStreamPreAndPostImages",
    "expireAfterSeconds",
    "timeseries",
    "index",
];

/// The options that versions since 5.0 and since 6.0 have added.
const LATER_OPTIONS: [(&str, bool); 6] = [
    ("expireAfterSeconds", false),
    ("timeseries", false),
    ("cappedSize", true),
    ("cappedMax", true),
    ("changeStreamPreAndPostImages", true),
    ("dryRun", true),
];

/// The options that time series collections and views do not have.
const OF_COLLECTIONS: [&str; 4] = [
    "validator",
    "validationLevel",
    "validationAction",
    "changeStreamPreAndPostImages",
];

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    let profile = call.deployment.profile();
    check_version(call.body, profile)?;
    let dry_run = args.flag("dryRun", false)?;
    if dry_run {
        check_dry_run(call.body)?;
    }
    let combined = OPTIONS
        .iter()
        .any(|name| *name != "timeseries" && call.body.contains_key(name));
    let combined = combined && call.body.contains_key("timeseries");
    timeseries_rows::MOD_COMBINED.check(profile, combined, &[])?;
    let mut catalog = call.catalog();
    let collection = catalog
        .get_mut(&namespace)
        .ok_or_else(|| rows::MOD_MISSING.error(&[]))?;
    call.deployment.index_builds.check(profile, &namespace)?;
    check_kind(call.body, collection, profile)?;
    if collection.view.is_some() {
        drop(catalog);
        return view::modify(call);
    }
    let mut reply = Document::new();
    // A command that fails changes nothing.
    let mut changed = collection.clone();
    set_capped(&args, &mut changed, profile)?;
    if let Some(index) = args.document("index")? {
        let modifications = count_modifications(call.body, index);
        let change = IndexChange {
            args: Args::new("collMod.index", index),
            fields: index,
            modifications,
            dry_run,
        };
        change.apply(&mut changed, &namespace.to_string(), profile, &mut reply)?;
    }
    if dry_run {
        return Ok(reply);
    }
    set_options(call, &mut changed, profile)?;
    *collection = changed;
    let asked = OPTIONS.into_iter().chain(["cappedSize", "cappedMax"]);
    let description: Document = asked
        .filter_map(|name| Some((name.to_owned(), call.body.get(name)?.clone())))
        .collect();
    record_change(&mut catalog, &namespace, "modify", description);
    call.advance_clock();
    Ok(reply)
}

/// Fails on the options that the version does not have.
fn check_version(body: &Document, profile: ServerProfile) -> Result<()> {
    for (name, since_6) in LATER_OPTIONS {
        if body.contains_key(name) {
            rows::MOD_UNKNOWN_4.check(profile, true, &[&name])?;
            rows::MOD_UNKNOWN_5.check(profile, since_6, &[&name])?;
        }
    }
    Ok(())
}

fn check_dry_run(body: &Document) -> Result<()> {
    let Ok(index) = body.get_document("index") else {
        return Err(rows::MOD_DRY_RUN_INDEX.error(&[]));
    };
    if !index.get("unique").is_some_and(crate::value::truthy) {
        return Err(rows::MOD_DRY_RUN_UNIQUE.error(&[]));
    }
    if count_modifications(body, index) > 1 {
        return Err(rows::MOD_DRY_RUN_COMBINED.error(&[]));
    }
    Ok(())
}

/// The number of changes of the command.
fn count_modifications(body: &Document, index: &Document) -> usize {
    let of_index = [
        "expireAfterSeconds",
        "unique",
        "hidden",
        "prepareUnique",
        "forceNonUnique",
    ];
    let of_index = of_index.iter().filter(|name| index.contains_key(name)).count();
    let others = OPTIONS
        .iter()
        .filter(|name| **name != "index" && body.contains_key(name));
    of_index + others.count()
}

/// Fails on the options that the kind of the namespace does not have.
fn check_kind(body: &Document, collection: &Collection, profile: ServerProfile) -> Result<()> {
    let is_view = collection.view.is_some();
    for name in ["viewOn", "pipeline"] {
        let misplaced = body.contains_key(name) && !is_view;
        rows::MOD_VIEW_OPTION_4.check(profile, misplaced, &[&name])?;
        rows::MOD_VIEW_OPTION.check(profile, misplaced, &[&name])?;
    }
    if is_view {
        let options = OPTIONS.iter().chain(&["cappedSize", "cappedMax"]);
        if let Some(name) = options.copied().find(|name| body.contains_key(name)) {
            return Err(rows::MOD_OF_VIEW.error(&[&name]));
        }
    }
    if collection.time_field.is_some() {
        if let Some(name) = OF_COLLECTIONS.iter().find(|name| body.contains_key(name)) {
            return Err(timeseries_rows::MOD_OPTION.error(&[name]));
        }
    } else if body.contains_key("timeseries") {
        return Err(timeseries_rows::MOD_ONLY.error(&[]));
    }
    Ok(())
}

/// `cappedSize` and `cappedMax`. The next insert removes the documents beyond the new limits.
fn set_capped(args: &Args<'_>, collection: &mut Collection, profile: ServerProfile) -> Result<()> {
    let (size, max) = (args.integer("cappedSize")?, args.integer("cappedMax")?);
    if size.is_none() && max.is_none() {
        return Ok(());
    }
    let Some(capped) = &mut collection.capped else {
        return Err(rows::MOD_NOT_CAPPED.error(&[]));
    };
    if let Some(size) = size {
        if size < 0 {
            return Err(rows::MOD_CAPPED_SIZE.error(&[]));
        }
        if size > super::create::MAX_CAPPED_SIZE {
            return Err(rows::MOD_CAPPED_SIZE_MAXIMUM.error(&[]));
        }
        let size = super::create::rounded(size, profile);
        capped.size = size as usize;
        collection.options.insert("size", size);
    }
    if let Some(max) = max {
        if max >= super::create::MAX_CAPPED_DOCUMENTS {
            return Err(rows::MOD_CAPPED_MAX.error(&[]));
        }
        capped.max = usize::try_from(max).ok().filter(|max| *max > 0);
        if capped.max.is_some() {
            collection.options.insert("max", max);
        } else {
            collection.options.remove("max");
        }
    }
    Ok(())
}

/// The options of the collection itself.
fn set_options(call: &Call<'_>, collection: &mut Collection, profile: ServerProfile) -> Result<()> {
    let args = call.args();
    let mut options = collection.options.clone();
    let mut wanted = options.clone();
    for name in ["validationLevel", "validationAction"] {
        wanted.extend(call.body.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    encrypted_fields::check_options(&wanted)?;
    set_validator(collection, &mut options, call)?;
    let namespace = call.namespace()?;
    check_validator(call.body, &namespace, collection)?;
    if let Some(images) = args.document("changeStreamPreAndPostImages")? {
        check_images(&namespace, profile)?;
        if images.get_bool("enabled").unwrap_or(false) {
            options.insert("changeStreamPreAndPostImages", images.clone());
        } else {
            options.remove("changeStreamPreAndPostImages");
        }
    }
    if let Some(seconds) = args.get("expireAfterSeconds") {
        if collection.time_field.is_none() && !options.contains_key("clusteredIndex") {
            return Err(rows::MOD_NOT_CLUSTERED.error(&[]));
        }
        match seconds {
            Bson::String(off) if off == "off" => options.remove("expireAfterSeconds"),
            Bson::String(other) => return Err(rows::MOD_EXPIRE_TEXT.error(&[other])),
            seconds => {
                check_expiry(&args, profile)?;
                options.insert("expireAfterSeconds", seconds.clone())
            }
        };
    }
    if let Some(change) = args.document("timeseries")? {
        let old = options.get_document("timeseries").cloned().unwrap_or_default();
        options.insert("timeseries", timeseries::modified(&old, change, profile)?);
    }
    collection.options = options;
    Ok(())
}

/// The change of an index.
struct IndexChange<'c> {
    args: Args<'c>,
    fields: &'c Document,
    /// The number of changes of the whole command.
    modifications: usize,
    dry_run: bool,
}

impl IndexChange<'_> {
    fn apply(
        &self,
        collection: &mut Collection,
        namespace: &str,
        profile: ServerProfile,
        reply: &mut Document,
    ) -> Result<()> {
        self.check_fields(profile)?;
        let position = self.position(collection, namespace, profile)?;
        self.check_time_series(collection)?;
        self.set_expiry(collection, position, profile, reply)?;
        self.set_hidden(collection, position, reply)?;
        self.set_prepare_unique(collection, position, reply)?;
        self.convert_to_non_unique(collection, position, reply);
        self.convert(collection, position, reply)
    }

    fn check_fields(&self, profile: ServerProfile) -> Result<()> {
        let known = ["name", "keyPattern", "expireAfterSeconds", "hidden"];
        for name in self.fields.keys().filter(|name| !known.contains(&name.as_str())) {
            rows::MOD_INDEX_UNKNOWN_4_4.check(profile, true, &[name])?;
            rows::MOD_INDEX_UNKNOWN_5.check(profile, true, &[name])?;
        }
        if profile.version.at_least(6, 0) {
            self.args.only(&[
                "name",
                "keyPattern",
                "expireAfterSeconds",
                "hidden",
                "unique",
                "prepareUnique",
                "forceNonUnique",
            ])?;
        }
        let keeps = !self.args.flag("forceNonUnique", true)?;
        rows::MOD_FORCE_FALSE.check(profile, keeps, &[])
    }

    /// The position of the index.
    fn position(&self, collection: &Collection, namespace: &str, profile: ServerProfile) -> Result<usize> {
        let invalid = |message: &str| Err(Error::new(code::INVALID_OPTIONS, message));
        let (name, pattern) = (self.args.string("name")?, self.args.document("keyPattern")?);
        if name.is_some() && pattern.is_some() {
            return invalid("Cannot specify both key pattern and name.");
        }
        if name.is_none() && pattern.is_none() {
            return invalid("Must specify either index name or key pattern.");
        }
        self.check_changes(profile)?;
        let clustered = collection.options.contains_key("clusteredIndex");
        let is_first = |index: &crate::storage::index::Index| {
            name == Some(&index.name) || pattern.is_some_and(|pattern| *pattern == index.key_pattern())
        };
        if clustered && self.fields.contains_key("hidden") && collection.indexes.first().is_some_and(is_first)
        {
            return Err(rows::MOD_HIDDEN_CLUSTERED.error(&[]));
        }
        let positions = match (name, pattern) {
            (Some(name), _) => {
                let found = collection.indexes.iter().position(|index| index.name == name);
                found.into_iter().collect()
            }
            (None, pattern) => pattern.map_or_else(Vec::new, |pattern| by_pattern(collection, pattern)),
        };
        let shown = pattern.map_or_else(|| name.unwrap_or_default().to_owned(), format::document);
        match positions[..] {
            [] => Err(rows::MOD_INDEX_MISSING.error(&[&shown, &namespace])),
            [position] => Ok(position),
            [first, second, ..] => {
                let specs = [first, second].map(|at| format::document(&collection.indexes[at].spec));
                Err(rows::MOD_INDEX_AMBIGUOUS.error(&[&shown, &positions.len(), &specs[0], &specs[1]]))
            }
        }
    }

    /// Fails if the command does not change the index.
    fn check_changes(&self, profile: ServerProfile) -> Result<()> {
        let has = |names: &[&str]| names.iter().any(|name| self.fields.contains_key(name));
        let nothing_4_2 = !has(&["expireAfterSeconds"]);
        rows::MOD_INDEX_NOTHING_4_2.check(profile, nothing_4_2, &[])?;
        if has(&[
            "expireAfterSeconds",
            "hidden",
            "unique",
            "prepareUnique",
            "forceNonUnique",
        ]) {
            return Ok(());
        }
        let rest = match profile.version {
            version if version.at_least(6, 0) => ", hidden, unique, or prepareUnique field",
            _ => " or hidden field",
        };
        let error = rows::MOD_INDEX_NOTHING.error(&[]);
        Err(Error {
            message: format!("{}{rest}", error.message),
            ..error
        })
    }

    fn check_time_series(&self, collection: &Collection) -> Result<()> {
        if collection.time_field.is_none() {
            return Ok(());
        }
        if self.fields.contains_key("expireAfterSeconds") {
            return Err(timeseries_rows::MOD_TTL_INDEX.error(&[]));
        }
        if self.fields.contains_key("prepareUnique") {
            return Err(timeseries_rows::MOD_PREPARE_UNIQUE.error(&[]));
        }
        Ok(())
    }

    fn set_expiry(
        &self,
        collection: &mut Collection,
        position: usize,
        profile: ServerProfile,
        reply: &mut Document,
    ) -> Result<()> {
        let Some(seconds) = self.args.integer("expireAfterSeconds")? else {
            return Ok(());
        };
        rows::MOD_TTL_CAPPED.check(profile, collection.capped.is_some(), &[])?;
        let index = &mut collection.indexes[position];
        let has_none = index.expire_after_seconds.is_none();
        rows::MOD_TTL_NEGATIVE.check(profile, seconds < 0, &[])?;
        if seconds > i64::from(i32::MAX) {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number",
            ));
        }
        rows::MOD_TTL_CONVERSION.check(profile, has_none, &[])?;
        rows::MOD_TTL_ID.check(profile, has_none && index.name == "_id_", &[])?;
        rows::MOD_TTL_COMPOUND.check(profile, has_none && index.key_pattern().len() != 1, &[])?;
        if let Some(old) = index.expire_after_seconds {
            reply.insert("expireAfterSeconds_old", old);
        }
        reply.insert("expireAfterSeconds_new", seconds);
        index.expire_after_seconds = Some(seconds);
        let listed = match i32::try_from(seconds) {
            Ok(seconds) if profile.version.at_least(5, 0) => Bson::Int32(seconds),
            _ => Bson::Int64(seconds),
        };
        index.spec.insert("expireAfterSeconds", listed);
        Ok(())
    }

    fn set_hidden(&self, collection: &mut Collection, position: usize, reply: &mut Document) -> Result<()> {
        if !self.fields.contains_key("hidden") {
            return Ok(());
        }
        let hidden = self.args.flag("hidden", false)?;
        let index = &mut collection.indexes[position];
        if index.name == "_id_" {
            return Err(rows::MOD_HIDDEN_ID.error(&[]));
        }
        if index.hidden == hidden {
            return Ok(());
        }
        reply.insert("hidden_old", index.hidden);
        reply.insert("hidden_new", hidden);
        index.hidden = hidden;
        set_flag(&mut index.spec, "hidden", hidden);
        Ok(())
    }

    fn set_prepare_unique(
        &self,
        collection: &mut Collection,
        position: usize,
        reply: &mut Document,
    ) -> Result<()> {
        if !self.fields.contains_key("prepareUnique") {
            return Ok(());
        }
        let prepare = self.args.flag("prepareUnique", false)?;
        let index = &mut collection.indexes[position];
        let changes = index.prepare_unique != prepare && !index.unique;
        if changes && self.modifications > 1 {
            return Err(rows::MOD_PREPARE_COMBINED.error(&[]));
        }
        if changes {
            reply.insert("prepareUnique_old", index.prepare_unique);
            reply.insert("prepareUnique_new", prepare);
            index.prepare_unique = prepare;
            set_flag(&mut index.spec, "prepareUnique", prepare);
        }
        Ok(())
    }

    /// `forceNonUnique`: converts a unique index to one that is not.
    fn convert_to_non_unique(&self, collection: &mut Collection, position: usize, reply: &mut Document) {
        let index = &mut collection.indexes[position];
        if self.fields.contains_key("forceNonUnique") && index.unique {
            reply.insert("forceNonUnique_new", true);
            index.unique = false;
            index.spec.remove("unique");
        }
    }

    /// `unique`: converts the index to a unique one.
    fn convert(&self, collection: &mut Collection, position: usize, reply: &mut Document) -> Result<()> {
        if !self.fields.contains_key("unique") {
            return Ok(());
        }
        if !self.args.flag("unique", false)? {
            return Err(rows::MOD_UNIQUE_FALSE.error(&[]));
        }
        check_convertible(collection, position)?;
        if self.dry_run || collection.indexes[position].unique {
            return Ok(());
        }
        let index = &mut collection.indexes[position];
        reply.insert("unique_new", true);
        index.unique = true;
        index.prepare_unique = false;
        index.spec.remove("prepareUnique");
        index.spec.insert("unique", true);
        Ok(())
    }
}

fn set_flag(spec: &mut Document, name: &str, on: bool) {
    if on {
        spec.insert(name, true);
    } else {
        spec.remove(name);
    }
}

fn check_convertible(collection: &Collection, position: usize) -> Result<()> {
    let index = &collection.indexes[position];
    if !index.prepare_unique && !index.unique {
        return Err(rows::MOD_UNIQUE_UNPREPARED.error(&[]));
    }
    let violations: Vec<Bson> = index
        .violations()
        .into_iter()
        .map(|ids| {
            let ids: Vec<Bson> = ids
                .into_iter()
                .filter_map(|id| collection.record(id)?.get("_id").cloned())
                .collect();
            Bson::Document(doc! { "ids": ids })
        })
        .collect();
    if violations.is_empty() {
        return Ok(());
    }
    Err(rows::MOD_DUPLICATES.error(&[]).with("violations", violations))
}
