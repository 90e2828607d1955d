//! The rules for the indexes of a time series. No I/O.

use crate::{
    base::bson::{Bson, Document},
    schema::{
        declared::Declared,
        deployment::{Deployment, Feature},
        features::{Unsupported, of_index},
    },
};

/// The fields of a time series.
pub(super) struct Series<'a> {
    time: &'a str,
    meta: Option<&'a str>,
}

impl<'a> Series<'a> {
    /// The time series with these options of `create`. `None` for another collection.
    pub(super) fn of_options(options: &'a Document) -> Option<Self> {
        let series = options.get_document("timeseries").ok()?;
        Some(Series {
            time: series.get_str("timeField").ok()?,
            meta: series.get_str("metaField").ok(),
        })
    }

    fn is_of_meta(&self, path: &str) -> bool {
        let within = |meta: &str| {
            path.strip_prefix(meta)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.meta.is_some_and(within)
    }

    /// Whether the path is neither that of the time nor within the meta field.
    fn is_measurement(&self, path: &str) -> bool {
        path != self.time && !self.is_of_meta(path)
    }

    /// Checks the rules that all server versions with time series have in common. The error is the
    /// reason.
    pub(super) fn check(&self, index: &Declared) -> Result<(), String> {
        let specification = &index.specification;
        let empty = Document::new();
        let keys = specification.get_document("key").unwrap_or(&empty);
        if specification
            .get("unique")
            .is_some_and(|value| *value == Bson::Boolean(true))
        {
            return Err("a time series has no unique indexes".to_owned());
        }
        for (path, kind) in keys {
            self.check_key(path, kind.as_str())?;
        }
        let filter = specification.get_document("partialFilterExpression").ok();
        if filter.is_some() && specification.contains_key("collation") {
            return Err(
                "an index of a time series cannot have both a partial filter and a collation".to_owned(),
            );
        }
        let has_measurement = keys.keys().any(|path| self.is_measurement(path));
        if specification.contains_key("sparse") && has_measurement {
            return Err("a sparse index of a time series is one of its meta field".to_owned());
        }
        if specification.contains_key("expireAfterSeconds") {
            let is_of_meta = |filter: &Document| filter.keys().all(|path| self.is_of_meta(path));
            if !filter.is_some_and(is_of_meta) || keys.keys().any(|path| path != self.time) {
                return Err(format!(
                    "an index of a time series with an expiration is one of its time field `{}`, with a partial filter on the \
                     meta field",
                    self.time
                ));
            }
        }
        Ok(())
    }

    fn check_key(&self, path: &str, kind: Option<&str>) -> Result<(), String> {
        let is_wildcard = path == "$**" || path.ends_with(".$**");
        match kind {
            Some("text") => Err("a time series has no text indexes".to_owned()),
            Some(kind) if path == self.time => Err(format!(
                "the time field `{path}` of a time series can be an ascending or descending key, found `{kind}`"
            )),
            Some(kind) if kind != "2dsphere" && self.is_measurement(path) => Err(format!(
                "`{path}`, a measurement of a time series, can be an ascending, descending or `2dsphere` key, found `{kind}`"
            )),
            None if is_wildcard && self.is_measurement(path) => {
                Err("a wildcard key of a time series is one of its meta field".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The parts of an index that the deployment does not support.
    pub(super) fn unsupported(&self, index: &Declared, deployment: &Deployment) -> Vec<Unsupported> {
        let specification = &index.specification;
        let empty = Document::new();
        let keys = specification.get_document("key").unwrap_or(&empty);
        let mut needed = Vec::new();
        if let Some(path) = keys.keys().find(|path| self.is_measurement(path)) {
            needed.push((
                format!("the key `{path}`, a measurement of the time series,"),
                Feature::SERIES_INDEXES,
            ));
        }
        for (option, feature) in [
            ("sparse", Feature::SERIES_INDEXES),
            ("partialFilterExpression", Feature::SERIES_INDEXES),
            ("expireAfterSeconds", Feature::SERIES_EXPIRATION),
        ] {
            if specification.contains_key(option) {
                needed.push((format!("the option `{option}` in a time series"), feature));
            }
        }
        let lacking = needed
            .into_iter()
            .filter_map(|(what, feature)| Some((what, deployment.lacks(feature)?)));
        lacking
            .map(|(what, requirement)| of_index(&what, index, requirement))
            .collect()
    }
}
