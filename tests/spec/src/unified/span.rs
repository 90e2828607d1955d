//! The spans of a client, and their comparison with expected spans.

use marula_driver::{
    bson::{Bson, Document, from_extended_json},
    options::ClientOptions,
};
use marula_driver_tests::{RecordedSpan, SpanRecorder};
use opentelemetry::Value;

use super::matcher::{Lookup, matches_root};

/// Longer than the commands of all tests, which parse `db.query.text`.
const TEXT_LIMIT: usize = 1_000_000;

/// Records the spans of a client for `observeTracingMessages`.
pub(crate) fn observe(observed: &Document, options: &mut ClientOptions) -> SpanRecorder {
    let recorder = SpanRecorder::default();
    recorder.observe(options);
    let has_text = observed.get_bool("enableCommandPayload").unwrap_or(false);
    options.tracing.query_text_max_length = Some(if has_text { TEXT_LIMIT } else { 0 });
    recorder
}

/// Compares the spans of a client with an element of `expectTracingMessages`.
pub(crate) fn check(list: &Document, recorder: &SpanRecorder, lookup: &dyn Lookup) -> Result<(), String> {
    let extra_is_fine = list.get_bool("ignoreExtraSpans").unwrap_or(false);
    let tree = Tree {
        recorder,
        lookup,
        extra_is_fine,
    };
    tree.compare(&documents(list, "spans"), &recorder.roots())
        .map_err(|why| format!("{why}; all spans: {:?}", recorder.outline()))
}

struct Tree<'a> {
    recorder: &'a SpanRecorder,
    lookup: &'a dyn Lookup,
    extra_is_fine: bool,
}

impl Tree<'_> {
    /// Compares the spans of one level in order. Extra spans are skipped if they are ignored.
    fn compare(&self, expected: &[&Document], actual: &[RecordedSpan]) -> Result<(), String> {
        let mut rest = actual.iter();
        for wanted in expected {
            let mut mismatch = None;
            loop {
                let Some(span) = rest.next() else {
                    let name = wanted.get_str("name").unwrap_or_default();
                    return Err(mismatch.unwrap_or(format!("expected a span \"{name}\", found none")));
                };
                match self.compare_one(wanted, span) {
                    Ok(()) => break,
                    Err(why) if !self.extra_is_fine => return Err(why),
                    Err(why) => mismatch = Some(why),
                }
            }
        }
        match rest.next() {
            Some(span) if !self.extra_is_fine => Err(format!("unexpected span \"{}\"", span.name())),
            _ => Ok(()),
        }
    }

    fn compare_one(&self, wanted: &Document, span: &RecordedSpan) -> Result<(), String> {
        let name = wanted.get_str("name").unwrap_or_default();
        if span.name() != name {
            return Err(format!("expected a span \"{name}\", found \"{}\"", span.name()));
        }
        if !span.is_client() {
            return Err(format!("the span \"{name}\" is not of the kind client"));
        }
        let attributes = wanted
            .get_document("attributes")
            .map_err(|error| error.to_string())?;
        matches_root(attributes, &attributes_of(span), self.lookup)
            .map_err(|why| format!("span \"{name}\": {why}"))?;
        self.compare(&documents(wanted, "nested"), &self.recorder.children(span.id))
    }
}

/// The attributes as a document. `db.mongodb.lsid` is Extended JSON, which tests compare as a
/// document.
fn attributes_of(span: &RecordedSpan) -> Document {
    let attributes = span.data.as_ref().map(|data| data.attributes.as_slice());
    let mut document = Document::new();
    for attribute in attributes.unwrap_or_default() {
        let key = attribute.key.as_str();
        let value = match &attribute.value {
            Value::Bool(flag) => Bson::Boolean(*flag),
            Value::I64(number) => Bson::Int64(*number),
            Value::F64(number) => Bson::Double(*number),
            other => {
                let text = other.to_string();
                match from_extended_json(&text) {
                    Ok(id) if key == "db.mongodb.lsid" => Bson::Document(id),
                    _ => Bson::String(text),
                }
            }
        };
        document.insert(key, value);
    }
    document
}

fn documents<'a>(list: &'a Document, key: &str) -> Vec<&'a Document> {
    let elements = list.get_array(key).map(Vec::as_slice).unwrap_or_default();
    elements.iter().filter_map(Bson::as_document).collect()
}
