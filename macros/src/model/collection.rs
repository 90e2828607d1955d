//! The options of a collection: checks what servers reject.

use syn::Ident;

use crate::{
    diagnostics::Sink,
    model::{fields, index::check_first},
    parse::{
        Field, Parsed,
        collection::{Acknowledged, Capped, OptionAttributes},
        index::{CollationOption, FieldPath},
    },
};

/// An option without errors.
pub(crate) enum CollectionOption {
    Capped {
        size: u64,
        max: Option<u64>,
    },
    TimeSeries {
        time: FieldPath,
        meta: Option<FieldPath>,
        granularity: Option<Ident>,
    },
    Clustered,
    ExpireAfter(u32),
    /// The documents of a clustered collection expire by the date in the id.
    ExpireAfterId {
        id: FieldPath,
        seconds: u32,
    },
    Collation(Vec<CollationOption>),
    Images,
    JsonSchema {
        level: Option<Ident>,
        action: Option<Ident>,
    },
    ReadConcern(Ident),
    WriteConcern(Acknowledged),
    ReadPreference(Ident),
}

impl CollectionOption {
    /// Whether the option is one of the handle of the application. The others are options of the
    /// collection on the server.
    pub(crate) fn is_of_handle(&self) -> bool {
        matches!(
            self,
            Self::ReadConcern(_) | Self::WriteConcern(_) | Self::ReadPreference(_)
        )
    }
}

pub(super) fn resolve(parsed: &Parsed, fields: &[Field], sink: &Sink) -> Vec<CollectionOption> {
    let options = &parsed.attributes.options;
    check(options, sink);
    let mut out = Vec::new();
    match &options.capped {
        Some(Capped {
            size: Some(size),
            max,
            ..
        }) => out.push(CollectionOption::Capped {
            size: *size,
            max: *max,
        }),
        Some(Capped { size: None, span, .. }) => {
            sink.at(
                *span,
                "a capped collection needs a size in bytes: `capped(size = 1_048_576)`",
            );
        }
        None => {}
    }
    if let Some(series) = &options.time_series {
        let is_known = |path: &FieldPath| check_first(path, fields, parsed, &[], sink);
        match &series.time {
            Some(time) => {
                if is_known(time) & series.meta.as_ref().is_none_or(is_known) {
                    out.push(CollectionOption::TimeSeries {
                        time: time.clone(),
                        meta: series.meta.clone(),
                        granularity: series.granularity.clone(),
                    });
                }
            }
            None => sink.at(
                series.span,
                "a time series needs the field with the time: `timeseries(time = at)`",
            ),
        }
    }
    if options.clustered.is_some() {
        out.push(CollectionOption::Clustered);
    }
    if let Some(seconds) = options.ttl {
        let id = options
            .clustered
            .and_then(|_| fields::id_ident(fields, parsed.serde.rename_all));
        out.push(match id {
            Some(id) => CollectionOption::ExpireAfterId {
                id: FieldPath {
                    segments: vec![id.clone()],
                },
                seconds,
            },
            None => CollectionOption::ExpireAfter(seconds),
        });
    }
    if let Some(collation) = &options.collation {
        let copy = |o: &CollationOption| CollationOption {
            name: o.name,
            value: o.value.clone(),
        };
        out.push(CollectionOption::Collation(collation.iter().map(copy).collect()));
    }
    if options.images.is_some() {
        out.push(CollectionOption::Images);
    }
    if let Some(schema) = &options.json_schema {
        out.push(CollectionOption::JsonSchema {
            level: schema.level.clone(),
            action: schema.action.clone(),
        });
    }
    out.extend(options.read_concern.clone().map(CollectionOption::ReadConcern));
    out.extend(options.write_concern.clone().map(CollectionOption::WriteConcern));
    out.extend(
        options
            .read_preference
            .clone()
            .map(CollectionOption::ReadPreference),
    );
    out
}

/// Checks combinations that servers reject.
fn check(options: &OptionAttributes, sink: &Sink) {
    if let (Some(series), Some(_)) = (&options.time_series, &options.capped) {
        sink.at(series.span, "a time series cannot be capped; limit it with `ttl`");
    }
    if let (Some(span), Some(_)) = (options.clustered, &options.capped) {
        sink.at(
            span,
            "a clustered collection cannot be capped; limit it with `ttl`",
        );
    }
    if let (Some(series), Some(_)) = (&options.time_series, options.clustered) {
        sink.at(
            series.span,
            "a time series is clustered by its time; remove `clustered`",
        );
    }
    if let (Some(series), Some(_)) = (&options.time_series, options.images) {
        sink.at(
            series.span,
            "a time series has no change streams, and so no pre- and post-images",
        );
    }
    if let (Some(series), Some(_)) = (&options.time_series, &options.json_schema) {
        sink.at(
            series.span,
            "a time series has no validator; remove `json_schema`",
        );
    }
}
