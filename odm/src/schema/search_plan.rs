//! The comparison of declared search indexes with those that the server lists. No I/O.
//!
//! The server may list a definition with values that are defaults and were not sent, so both
//! definitions are compared without them.

use crate::{
    base::{
        bson::{Bson, Document},
        error::STAGE_OF_ATLAS,
    },
    driver::{self, error::code},
    models::index::{SearchIndexDeclaration, SearchIndexKind, normal::number},
    schema::{Step, record::Recorded},
};

/// A search index, as `$listSearchIndexes` lists it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) queryable: bool,
    pub(super) definition: Document,
    pub(super) message: Option<String>,
}

impl Listed {
    pub(super) fn of(listed: &Document) -> Self {
        let text = |name: &str| listed.get_str(name).unwrap_or_default().to_owned();
        let kind = text("type");
        Listed {
            name: text("name"),
            kind: if kind.is_empty() {
                SearchIndexKind::Search.as_str().to_owned()
            } else {
                kind
            },
            status: text("status"),
            queryable: listed.get_bool("queryable").unwrap_or(false),
            definition: listed
                .get_document("latestDefinition")
                .cloned()
                .unwrap_or_default(),
            message: listed.get_str("message").ok().map(str::to_owned),
        }
    }

    /// Whether queries use the declared definition.
    pub(super) fn is_ready(&self, declared: &SearchIndexDeclaration) -> bool {
        self.queryable && self.status == "READY" && self.is(declared)
    }

    /// Whether the index has the declared type and definition.
    fn is(&self, declared: &SearchIndexDeclaration) -> bool {
        is_equal(self, declared.kind(), declared.definition())
    }
}

/// Whether the index has this type and this definition.
pub(super) fn is_equal(index: &Listed, kind: SearchIndexKind, definition: &Document) -> bool {
    index.kind == kind.as_str() && normalize(kind, &index.definition) == normalize(kind, definition)
}

/// The steps for the search indexes of a collection.
pub(super) fn steps(
    declared: &[SearchIndexDeclaration],
    listed: &[Listed],
    recorded: &Recorded,
) -> Vec<Step> {
    let mut steps: Vec<Step> = declared.iter().map(|index| step(index, listed)).collect();
    let is_declared = |index: &&Listed| declared.iter().any(|d| d.index_name() == index.name);
    steps.extend(listed.iter().filter(|index| !is_declared(index)).map(|index| {
        let (name, definition) = (index.name.clone(), index.definition.clone());
        match recorded.get(&index.name) {
            Some(&undeclared_since) => Step::ObsoleteSearchIndex {
                name,
                definition,
                undeclared_since,
            },
            None => Step::UnknownSearchIndex { name, definition },
        }
    }));
    steps
}

fn step(declared: &SearchIndexDeclaration, listed: &[Listed]) -> Step {
    let name = declared.index_name().to_owned();
    let Some(existing) = listed.iter().find(|index| index.name == name) else {
        return Step::CreateSearchIndex {
            name,
            kind: declared.kind(),
            definition: declared.definition().clone(),
        };
    };
    if existing.is(declared) {
        return Step::KeepSearchIndex {
            name,
            status: existing.status.clone(),
            queryable: existing.queryable,
        };
    }
    let (before, after) = (existing.definition.clone(), declared.definition().clone());
    if existing.kind == declared.kind().as_str() {
        Step::UpdateSearchIndex {
            name,
            existing: before,
            declared: after,
        }
    } else {
        Step::SearchIndexConflict {
            name,
            existing_kind: existing.kind.clone(),
            kind: declared.kind(),
            existing: before,
            declared: after,
        }
    }
}

/// The code of a stage that the server does not have. It has no name.
const UNKNOWN_STAGE: i32 = 40_324;

/// Whether the deployment has no search: it is neither Atlas nor has `mongot`, or it is older than search
/// indexes, or the client declares the strict Stable API.
pub(super) fn is_unsupported(error: &driver::Error) -> bool {
    matches!(
        error.code(),
        Some(
            code::SEARCH_NOT_ENABLED
                | code::COMMAND_NOT_FOUND
                | code::COMMAND_NOT_SUPPORTED
                | code::API_STRICT_ERROR
                | UNKNOWN_STAGE
                | STAGE_OF_ATLAS
        )
    )
}

/// A definition without values that are defaults.
fn normalize(kind: SearchIndexKind, definition: &Document) -> Document {
    let mut normal = definition.clone();
    match kind {
        SearchIndexKind::Search => {
            remove(&mut normal, "analyzer", "lucene.standard");
            let analyzer = normal.get_str("analyzer").unwrap_or("lucene.standard").to_owned();
            remove(&mut normal, "searchAnalyzer", &analyzer);
            remove(&mut normal, "storedSource", false);
            remove(&mut normal, "numPartitions", 1);
            if let Ok(mappings) = normal.get_document_mut("mappings") {
                fields(mappings);
            }
        }
        SearchIndexKind::VectorSearch => {
            remove(&mut normal, "numPartitions", 1);
            if let Ok(fields) = normal.get_array_mut("fields") {
                for field in fields.iter_mut().filter_map(Bson::as_document_mut) {
                    remove(field, "quantization", "none");
                    remove(field, "indexingMethod", "hnsw");
                    remove(field, "hnswOptions", hnsw_default());
                    numbers(field);
                }
                // The order of the fields has no meaning.
                let path = |field: &Bson| {
                    let path = field.as_document().and_then(|field| field.get_str("path").ok());
                    path.unwrap_or_default().to_owned()
                };
                fields.sort_by_key(path);
            }
        }
    }
    sorted(&normal)
}

fn hnsw_default() -> Document {
    let mut options = Document::new();
    options.insert("maxEdges", 16);
    options.insert("numEdgeCandidates", 100);
    options
}

/// Removes an option that has its default value.
fn remove(options: &mut Document, name: &str, default: impl Into<Bson>) {
    let default = number(&default.into());
    let is_default = |value: &Bson| match (number(value), &default) {
        (Bson::Document(value), Bson::Document(default)) => sorted(&value) == sorted(default),
        (value, default) => value == *default,
    };
    if options.get(name).is_some_and(is_default) {
        options.remove(name);
    }
}

fn numbers(options: &mut Document) {
    for (_, value) in options.iter_mut() {
        *value = number(value);
    }
}

/// The fields of mappings or of a document, each as an array of its types.
fn fields(mappings: &mut Document) {
    remove(mappings, "dynamic", false);
    let Ok(fields) = mappings.get_document_mut("fields") else {
        return;
    };
    for (_, field) in fields.iter_mut() {
        let mut types = match std::mem::replace(field, Bson::Null) {
            Bson::Array(types) => types,
            one => vec![one],
        };
        for mapping in types.iter_mut().filter_map(Bson::as_document_mut) {
            defaults(mapping);
        }
        let kind = |mapping: &Bson| {
            let kind = mapping
                .as_document()
                .and_then(|mapping| mapping.get_str("type").ok());
            kind.unwrap_or_default().to_owned()
        };
        types.sort_by_key(kind);
        *field = Bson::Array(types);
    }
    if fields.is_empty() {
        mappings.remove("fields");
    }
}

/// Removes the defaults of a mapping.
fn defaults(mapping: &mut Document) {
    numbers(mapping);
    match mapping.get_str("type").unwrap_or_default() {
        "document" | "embeddedDocuments" => self::fields(mapping),
        "string" => {
            remove(mapping, "indexOptions", "offsets");
            remove(mapping, "store", true);
            remove(mapping, "norms", "include");
        }
        "autocomplete" => {
            remove(mapping, "analyzer", "lucene.standard");
            remove(mapping, "tokenization", "edgeGram");
            remove(mapping, "minGrams", 2);
            remove(mapping, "maxGrams", 15);
            remove(mapping, "foldDiacritics", true);
        }
        "number" => {
            remove(mapping, "representation", "double");
            remove(mapping, "indexIntegers", true);
            remove(mapping, "indexDoubles", true);
        }
        "token" => remove(mapping, "normalizer", "none"),
        "geo" => remove(mapping, "indexShapes", false),
        _ => {}
    }
}

/// The document with its fields in the order of their names, at all depths.
fn sorted(document: &Document) -> Document {
    fn value(value: &Bson) -> Bson {
        match value {
            Bson::Document(document) => Bson::Document(sorted(document)),
            Bson::Array(items) => Bson::Array(items.iter().map(value_of).collect()),
            other => other.clone(),
        }
    }
    fn value_of(item: &Bson) -> Bson {
        value(item)
    }
    let mut entries: Vec<(&String, &Bson)> = document.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
        .into_iter()
        .map(|(name, v)| (name.clone(), value(v)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Path,
        base::bson::doc,
        models::index::{SearchIndex, SearchMapping, Similarity, VectorSearchIndex},
    };

    fn titles() -> SearchIndexDeclaration {
        let root = Path::<(), ()>::root();
        SearchIndex::new("titles")
            .field(&root.step::<String>("title"), SearchMapping::string())
            .field(
                &root.step::<String>("title"),
                SearchMapping::autocomplete().option("maxGrams", 10),
            )
            .field(&root.step::<String>("address.city"), SearchMapping::token())
            .into()
    }

    fn plots() -> SearchIndexDeclaration {
        let root = Path::<(), ()>::root();
        VectorSearchIndex::new("plots")
            .vector(&root.step::<Vec<f32>>("plot"), 4, Similarity::DotProduct, None)
            .filter(&root.step::<i32>("year"))
            .into()
    }

    fn listed(name: &str, kind: &str, definition: Document) -> Listed {
        Listed::of(&doc! {
            "id": "1", "name": name, "type": kind, "status": "READY", "queryable": true, "latestDefinition": definition,
        })
    }

    fn only(declared: &SearchIndexDeclaration, listed: Listed) -> Step {
        let mut all = steps(std::slice::from_ref(declared), &[listed], &Recorded::new());
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn what_the_server_adds_does_not_differ() {
        let definition = doc! { "mappings": { "dynamic": false, "fields": {
            "address": { "type": "document", "dynamic": false, "fields": { "city": [{ "type": "token", "normalizer": "none" }] } },
            "title": [
                { "type": "autocomplete", "maxGrams": 10_i64, "minGrams": 2, "tokenization": "edgeGram" },
                { "type": "string", "store": true, "indexOptions": "offsets" },
            ],
        } }, "analyzer": "lucene.standard", "searchAnalyzer": "lucene.standard", "storedSource": false };
        let kept = only(&titles(), listed("titles", "search", definition));
        assert!(
            matches!(kept, Step::KeepSearchIndex { queryable: true, .. }),
            "{kept:?}"
        );
        let definition = doc! { "fields": [
            { "type": "filter", "path": "year" },
            { "type": "vector", "path": "plot", "numDimensions": 4.0, "similarity": "dotProduct", "quantization": "none",
                "hnswOptions": { "numEdgeCandidates": 100, "maxEdges": 16 } },
        ], "numPartitions": 1 };
        let kept = only(&plots(), listed("plots", "vectorSearch", definition));
        assert!(matches!(kept, Step::KeepSearchIndex { .. }), "{kept:?}");
    }

    #[test]
    fn differences_are_updates_and_other_types_conflicts() {
        let same = titles();
        let mut other = same.definition().clone();
        other
            .get_document_mut("mappings")
            .unwrap()
            .insert("dynamic", true);
        let step = only(&same, listed("titles", "search", other));
        assert!(matches!(step, Step::UpdateSearchIndex { .. }), "{step:?}");
        let mut other = same.definition().clone();
        other.insert("analyzer", "lucene.english");
        let step = only(&same, listed("titles", "search", other));
        assert!(matches!(step, Step::UpdateSearchIndex { .. }), "{step:?}");
        let step = only(&plots(), listed("plots", "search", titles().definition().clone()));
        assert!(
            matches!(&step, Step::SearchIndexConflict { existing_kind, .. } if existing_kind == "search"),
            "{step:?}"
        );
    }

    #[test]
    fn indexes_that_are_not_declared_are_unknown_unless_recorded() {
        let all = [
            listed("mine", "search", Document::new()),
            listed("other", "search", Document::new()),
        ];
        let recorded = Recorded::from([("mine".to_owned(), None)]);
        let steps = steps(&[titles()], &all, &recorded);
        assert!(
            matches!(
                &steps[..],
                [
                    Step::CreateSearchIndex { name, .. },
                    Step::ObsoleteSearchIndex { undeclared_since: None, .. },
                    Step::UnknownSearchIndex { .. }
                ] if name == "titles"
            ),
            "{steps:?}"
        );
    }

    #[test]
    fn an_index_is_ready_with_the_declared_definition() {
        let declared = titles();
        let ready = listed("titles", "search", declared.definition().clone());
        assert!(ready.is_ready(&declared));
        let building = Listed {
            status: "BUILDING".to_owned(),
            ..ready.clone()
        };
        assert!(!building.is_ready(&declared));
        let old = Listed {
            definition: doc! { "mappings": { "dynamic": true } },
            ..ready
        };
        assert!(!old.is_ready(&declared));
    }

    #[test]
    fn invalid_declarations_have_a_reason() {
        let root = Path::<(), ()>::root();
        let reason = |index: SearchIndexDeclaration| index.check().unwrap_err();
        assert!(reason(SearchIndex::new("a").into()).contains("maps no fields"));
        assert!(reason(SearchIndex::new("").dynamic().into()).contains("name"));
        let title = root.step::<String>("title");
        let twice = SearchIndex::new("a").field(&title, SearchMapping::token());
        assert!(reason(twice.field(&title, SearchMapping::token()).into()).contains("twice"));
        let vector =
            |n| VectorSearchIndex::new("v").vector(&root.step::<[f32; 3]>("v"), n, Similarity::Cosine, None);
        assert!(reason(vector(0).into()).contains("1 to 8192"));
        assert!(reason(vector(4).into()).contains("3 numbers"));
        assert!(SearchIndexDeclaration::from(vector(3)).check().is_ok());
        assert!(reason(VectorSearchIndex::new("v").filter(&title).into()).contains("needs a vector"));
    }
}
