//! All attributes of encrypted fields, on all types that can be encrypted.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use marula::bson::{
    Binary, Bson, DateTime, Decimal128, Document as BsonDocument, ObjectId, Regex, Timestamp, doc,
};
use marula::forms::Millis;
use marula::{Document, Embedded, Filter, Model, Update};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
}

#[derive(Clone, Copy, Serialize, Deserialize, Embedded)]
enum Level {
    Low,
    High,
}

#[derive(Clone, Copy, Serialize, Deserialize, Embedded)]
struct Cents(i64);

#[derive(Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Times {
    #[document(encrypted(range(min = DateTime::from_millis(0), max = DateTime::from_millis(9)), contention = 1))]
    at_time: DateTime,
    #[document(encrypted(range))]
    system: SystemTime,
    #[document(encrypted(equality))]
    chrono: chrono::DateTime<chrono::Utc>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "all", clustered, pre_and_post_images)]
struct All {
    _id: i64,
    #[document(encrypted(equality))]
    boolean: bool,
    #[document(encrypted(equality))]
    id: ObjectId,
    #[document(encrypted(equality))]
    binary: Binary,
    #[document(encrypted(equality))]
    uuid: Uuid,
    #[document(encrypted(equality))]
    regex: Regex,
    #[document(encrypted(equality))]
    timestamp: Timestamp,
    #[document(encrypted(equality))]
    letter: char,
    #[document(encrypted(equality, contention = 0))]
    level: Level,
    #[document(encrypted(range(min = 0, max = 5)))]
    small: u8,
    #[document(encrypted(range(min = Cents(1), max = 500)))]
    cents: Cents,
    #[document(encrypted(range(min = 0.5, max = 2.5, precision = 2)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    double: Option<f64>,
    #[document(encrypted(range))]
    decimal: rust_decimal::Decimal,
    #[document(encrypted)]
    stored_decimal: Decimal128,
    #[document(encrypted)]
    lines: Vec<Line>,
    #[document(encrypted)]
    line: Line,
    #[document(encrypted)]
    map: HashMap<String, Line>,
    #[document(encrypted)]
    raw: BsonDocument,
    #[document(as = Millis, encrypted(range(min = Duration::ZERO, max = Duration::from_secs(86_400))))]
    limit: Duration,
    #[document(encrypted(
        prefix(min = 1, max = 8),
        suffix(min = 1, max = 8),
        case_sensitive,
        diacritic_sensitive,
        preview
    ))]
    r#type: String,
    #[serde(flatten)]
    times: Times,
    plain: BTreeMap<String, Vec<Line>>,
}

#[test]
fn every_type_has_its_bson_type() {
    let fields = All::encrypted_fields().expect("valid declarations");
    let fields = fields.get_array("fields").expect("fields");
    let named = |field: &Bson| {
        let field = field.as_document().expect("a document");
        let text = |name: &str| field.get_str(name).expect("a text").to_owned();
        (text("path"), text("bsonType"))
    };
    let types: BTreeMap<String, String> = fields.iter().map(named).collect();
    let expected = [
        ("atTime", "date"),
        ("binary", "binData"),
        ("boolean", "bool"),
        ("cents", "long"),
        ("chrono", "date"),
        ("decimal", "decimal"),
        ("double", "double"),
        ("id", "objectId"),
        ("letter", "string"),
        ("level", "string"),
        ("limit", "long"),
        ("line", "object"),
        ("lines", "array"),
        ("map", "object"),
        ("raw", "object"),
        ("regex", "regex"),
        ("small", "int"),
        ("stored_decimal", "decimal"),
        ("system", "date"),
        ("timestamp", "timestamp"),
        ("type", "string"),
        ("uuid", "binData"),
    ];
    let expected: BTreeMap<String, String> = expected
        .iter()
        .map(|(path, name)| ((*path).to_owned(), (*name).to_owned()))
        .collect();
    assert_eq!(types, expected);
}

#[test]
fn options_have_the_types_of_the_field() {
    let fields = All::encrypted_fields().expect("valid declarations");
    let fields = fields.get_array("fields").expect("fields");
    let queries = |path: &str| {
        let mut documents = fields.iter().filter_map(Bson::as_document);
        let field = documents.find(|field| field.get_str("path").is_ok_and(|p| p == path));
        field.and_then(|field| field.get("queries")).cloned()
    };
    let range = doc! { "queryType": "range", "min": 1_i64, "max": 500_i64 };
    assert_eq!(queries("cents"), Some(range.into()));
    let range = doc! { "queryType": "range", "min": 0.5, "max": 2.5, "precision": 2 };
    assert_eq!(queries("double"), Some(range.into()));
    let part = |name: &str| {
        let mut options = doc! { "queryType": name, "strMinQueryLength": 1_i64, "strMaxQueryLength": 8_i64 };
        options.extend(doc! { "caseSensitive": true, "diacriticSensitive": true });
        Bson::Document(options)
    };
    let parts = vec![part("prefixPreview"), part("suffixPreview")];
    assert_eq!(queries("type"), Some(parts.into()));
}

#[test]
fn operators_take_the_values_of_the_type() {
    let a = All::fields();
    let filter: Filter<All> = a.cents().between(1, Cents(5)) & a.double().gte(1) & a.level().ne(Level::Low);
    let _: Filter<All> =
        a.limit().lt(Duration::from_secs(5)) & a.times().at_time().gt(DateTime::from_millis(5));
    let _: Update<All> = a
        .double()
        .set(2.5)
        .and(a.lines().set(vec![Line { sku: "a".to_owned() }]));
    let _: Update<All> = a.double().unset();
    assert_eq!(
        filter.to_string(),
        r#"{"cents": {"$gte": 1, "$lte": 5}, "double": {"$gte": 1.0}, "level": {"$ne": "Low"}}"#
    );
    assert_eq!(
        a.r#type().starts_with("x").to_string(),
        r#"{"$expr": {"$encStrStartsWith": {"input": "$type", "prefix": "x"}}}"#
    );
    let _ = Level::High;
}
