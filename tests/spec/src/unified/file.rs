//! Parses and validates test files.

use std::path::Path;

use marula_driver::bson::{Array, Bson, Document, from_extended_json};

use super::{schema, version::Version};

/// The newest version of the format that this runner supports.
const SUPPORTED: (u32, u32) = (1, 28);

/// A file in the unified test format.
#[derive(Debug)]
pub(crate) struct TestFile {
    pub(crate) requirements: Vec<Document>,
    pub(crate) entities: Array,
    pub(crate) initial_data: Vec<Document>,
    pub(crate) tests: Vec<Test>,
    /// Whether the file was converted from the legacy format: `outcome` may contain the operator `$$type`, and
    /// results have no other fields than those that are expected.
    pub(crate) is_legacy: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) description: String,
    pub(crate) requirements: Vec<Document>,
    pub(crate) skip_reason: Option<String>,
    pub(crate) operations: Vec<Document>,
    pub(crate) events: Vec<Document>,
    pub(crate) messages: Vec<Document>,
    pub(crate) spans: Vec<Document>,
    pub(crate) outcome: Vec<Document>,
}

/// Parses a file as Extended JSON.
///
/// # Errors
/// Returns an error if the file cannot be read or is not Extended JSON.
pub(crate) fn parse(path: &Path) -> Result<Document, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read the file: {e}"))?;
    from_extended_json(&text).map_err(|e| format!("invalid Extended JSON: {e}"))
}

impl TestFile {
    /// Validates a file with the schema and splits it into its parts.
    ///
    /// # Errors
    /// Returns all schema violations, or an error if the version is not supported.
    pub(crate) fn new(mut file: Document) -> Result<Self, String> {
        let version = file.get_str("schemaVersion").ok().and_then(Version::parse);
        if let Some(version) = version {
            let (major, minor) = version.release();
            if major != SUPPORTED.0 || minor > SUPPORTED.1 {
                return Err(format!("schemaVersion {version} is not supported"));
            }
        }
        let violations = schema::violations(&file);
        if !violations.is_empty() {
            let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
            return Err(all.join("\n"));
        }
        let entities = match file.remove("createEntities") {
            Some(Bson::Array(entities)) => entities,
            _ => Array::new(),
        };
        Ok(Self {
            requirements: documents(&mut file, "runOnRequirements"),
            entities,
            initial_data: documents(&mut file, "initialData"),
            tests: documents(&mut file, "tests").into_iter().map(Test::new).collect(),
            is_legacy: false,
        })
    }

    /// Validates and splits a file that was converted from the legacy format.
    ///
    /// # Errors
    /// See [`TestFile::new`].
    pub(crate) fn from_legacy(file: Document) -> Result<Self, String> {
        Ok(Self {
            is_legacy: true,
            ..Self::new(file)?
        })
    }
}

impl Test {
    fn new(mut test: Document) -> Self {
        let text = |test: &Document, key: &str| test.get_str(key).ok().map(str::to_owned);
        Self {
            description: text(&test, "description").unwrap_or_default(),
            skip_reason: text(&test, "skipReason"),
            requirements: documents(&mut test, "runOnRequirements"),
            operations: documents(&mut test, "operations"),
            events: documents(&mut test, "expectEvents"),
            messages: documents(&mut test, "expectLogMessages"),
            spans: documents(&mut test, "expectTracingMessages"),
            outcome: documents(&mut test, "outcome"),
        }
    }
}

impl Test {
    /// Returns whether one of the operations, including nested ones, has one of these names.
    pub(crate) fn uses(&self, names: &[&str]) -> bool {
        self.operations.iter().any(|operation| uses(operation, names))
    }
}

fn uses(operation: &Document, names: &[&str]) -> bool {
    if operation.get_str("name").is_ok_and(|name| names.contains(&name)) {
        return true;
    }
    let Ok(arguments) = operation.get_document("arguments") else {
        return false;
    };
    let nested = |value: &Bson| {
        value
            .as_document()
            .is_some_and(|operation| uses(operation, names))
    };
    arguments.get("operation").is_some_and(nested)
        || arguments
            .get_array("callback")
            .is_ok_and(|operations| operations.iter().any(nested))
}

/// Takes the documents of an array that the schema has validated.
fn documents(parent: &mut Document, key: &str) -> Vec<Document> {
    let Some(Bson::Array(elements)) = parent.remove(key) else {
        return Vec::new();
    };
    elements
        .into_iter()
        .filter_map(|element| match element {
            Bson::Document(document) => Some(document),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;

    fn file(version: &str) -> Document {
        doc! { "description": "d", "schemaVersion": version, "tests": [
            { "description": "t", "operations": [], "skipReason": "why" },
        ] }
    }

    #[test]
    fn supported_versions_are_parsed() {
        let read = TestFile::new(file("1.28")).expect("a valid file");
        assert_eq!(read.tests.len(), 1);
        assert_eq!(read.tests[0].skip_reason.as_deref(), Some("why"));
        assert!(TestFile::new(file("1.0.9")).is_ok());
        for version in ["1.29", "0.9", "2.0"] {
            let error = TestFile::new(file(version)).expect_err("unsupported");
            assert!(error.contains("not supported"), "{error}");
        }
    }

    #[test]
    fn nested_operations_are_found() {
        let test = Test::new(doc! { "description": "t", "operations": [
            { "name": "withTransaction", "object": "s", "arguments": { "callback": [
                { "name": "distinct", "object": "c" },
            ] } },
            { "name": "runOnThread", "object": "testRunner", "arguments": {
                "operation": { "name": "find", "object": "c" },
            } },
        ] });
        assert!(test.uses(&["distinct"]) && test.uses(&["find"]) && test.uses(&["withTransaction"]));
        assert!(!test.uses(&["insertOne"]));
    }

    #[test]
    fn invalid_files_are_rejected() {
        let mut file = file("1.0");
        file.insert("foo", 1);
        assert!(
            TestFile::new(file)
                .expect_err("a violation")
                .contains("unknown key \"foo\"")
        );
    }
}
