//! Parses read concerns, read preferences and write concerns of the test format.

use std::time::Duration;

use marula_driver::{
    bson::{Bson, Document},
    options::{
        Acknowledgment, ReadConcern, ReadConcernLevel, ReadPreference, ReadPreferenceMode, TagSet,
        TransactionOptions, WriteConcern,
    },
};

use crate::unified::{
    matcher::show,
    stop::{Step, failed},
};

pub(crate) fn read_concern(document: &Document) -> Step<ReadConcern> {
    let mut concern = ReadConcern::default();
    for (key, value) in document {
        match (key.as_str(), value) {
            ("level", Bson::String(level)) => concern.level = Some(ReadConcernLevel::from(level.as_str())),
            _ => return invalid("readConcern", key, value),
        }
    }
    Ok(concern)
}

pub(crate) fn write_concern(document: &Document) -> Step<WriteConcern> {
    let mut concern = WriteConcern::default();
    for (key, value) in document {
        match (key.as_str(), value) {
            ("w", Bson::String(name)) if name == "majority" => concern.w = Some(Acknowledgment::Majority),
            ("w", Bson::String(name)) => concern.w = Some(Acknowledgment::Custom(name.clone())),
            ("w", number) => match as_u64(number).and_then(|number| u32::try_from(number).ok()) {
                Some(nodes) => concern.w = Some(Acknowledgment::Nodes(nodes)),
                None => return invalid("writeConcern", key, value),
            },
            ("journal", Bson::Boolean(journal)) => concern.journal = Some(*journal),
            ("wtimeoutMS", number) => match as_u64(number) {
                Some(milliseconds) => concern.w_timeout = Some(Duration::from_millis(milliseconds)),
                None => return invalid("writeConcern", key, value),
            },
            _ => return invalid("writeConcern", key, value),
        }
    }
    Ok(concern)
}

pub(crate) fn read_preference(document: &Document) -> Step<ReadPreference> {
    let mut preference = ReadPreference::default();
    for (key, value) in document {
        match (key.as_str(), value) {
            ("mode", Bson::String(mode)) => match ReadPreferenceMode::parse(mode) {
                Some(mode) => preference.mode = mode,
                None => return invalid("readPreference", key, value),
            },
            ("tagSets", Bson::Array(sets)) => {
                preference.tag_sets = sets.iter().map(tag_set).collect::<Step<_>>()?;
            }
            ("maxStalenessSeconds", number) => match as_u64(number) {
                Some(seconds) => preference.max_staleness = Some(Duration::from_secs(seconds)),
                None => return invalid("readPreference", key, value),
            },
            ("hedge", Bson::Document(hedge)) => match (hedge.len(), hedge.get_bool("enabled")) {
                (1, Ok(enabled)) => preference.hedge = Some(enabled),
                _ => return invalid("readPreference", key, value),
            },
            _ => return invalid("readPreference", key, value),
        }
    }
    Ok(preference)
}

pub(crate) fn transaction_options(document: &Document) -> Step<TransactionOptions> {
    let mut options = TransactionOptions::default();
    for (key, value) in document {
        options = match (key.as_str(), value) {
            ("readConcern", Bson::Document(value)) => options.read_concern(read_concern(value)?),
            ("writeConcern", Bson::Document(value)) => options.write_concern(write_concern(value)?),
            ("readPreference", Bson::Document(value)) => options.read_preference(read_preference(value)?),
            ("maxCommitTimeMS", number) => match as_u64(number) {
                Some(milliseconds) => options.max_commit_time(Duration::from_millis(milliseconds)),
                None => return invalid("transactionOptions", key, value),
            },
            _ => return invalid("transactionOptions", key, value),
        };
    }
    Ok(options)
}

fn tag_set(value: &Bson) -> Step<TagSet> {
    let Bson::Document(tags) = value else {
        return invalid("readPreference", "tagSets", value);
    };
    tags.iter()
        .map(|(name, value)| match value {
            Bson::String(value) => Ok((name.clone(), value.clone())),
            other => invalid("tagSets", name, other),
        })
        .collect()
}

fn as_u64(value: &Bson) -> Option<u64> {
    match value {
        Bson::Int32(number) => u64::try_from(*number).ok(),
        Bson::Int64(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn invalid<T>(what: &str, key: &str, value: &Bson) -> Step<T> {
    failed(format!("invalid {what}.{key}: {}", show(value)))
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;

    #[test]
    fn valid_options_are_parsed() {
        assert_eq!(
            read_concern(&doc! { "level": "majority" }).expect("ok"),
            ReadConcern::majority()
        );
        let concern = write_concern(&doc! { "w": 2, "wtimeoutMS": 5, "journal": true }).expect("ok");
        assert_eq!(concern.w, Some(Acknowledgment::Nodes(2)));
        assert_eq!(concern.w_timeout, Some(Duration::from_millis(5)));
        let preference = doc! { "mode": "nearest", "tagSets": [{ "a": "b" }, {}], "maxStalenessSeconds": 90 };
        assert_eq!(read_preference(&preference).expect("ok").tag_sets.len(), 2);
    }

    #[test]
    fn invalid_options_are_errors() {
        assert!(read_concern(&doc! { "foo": 1 }).is_err());
        assert!(write_concern(&doc! { "w": -1 }).is_err());
        assert!(write_concern(&doc! { "wtimeout": 1 }).is_err());
        assert!(read_preference(&doc! { "mode": "furthest" }).is_err());
        assert!(read_preference(&doc! { "tagSets": [{ "a": 1 }] }).is_err());
    }
}
