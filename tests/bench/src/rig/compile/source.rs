//! The sources of the crates whose compile times are compared: the same models and queries, with the ODM, with the ODM and
//! serde, and with serde and documents alone.

use std::fmt::Write;

/// Number of models, each in a module of its own, with [`FIELDS`] fields and [`QUERIES`] queries.
pub(super) const MODELS: usize = 200;
/// Fields of a model, with the id.
pub(super) const FIELDS: usize = 20;
/// Queries of a model.
pub(super) const QUERIES: usize = 5;

/// Which crate is generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// `#[derive(Document)]`, and typed queries.
    Typed,
    /// [`Typed`](Self::Typed) with serde's derives in addition, for JSON.
    TypedAndSerde,
    /// serde's derives, and queries as documents on the driver.
    SerdeOnly,
}

/// A change after which the crate is checked again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// None: the crate as it was.
    None,
    /// The body of one function, differently for each number.
    Body(usize),
    /// A field of one model, with another name for each number.
    Field(usize),
}

impl Form {
    /// `lib.rs`.
    pub(super) fn root() -> String {
        (0..MODELS).fold(String::new(), |mut text, n| {
            text.push_str(&format!("pub mod m{n};\n"));
            text
        })
    }

    /// The module of a model. A change concerns the module that it is passed for.
    pub(super) fn module(self, number: usize, change: Change) -> String {
        let mut text = self.header(number);
        for (name, ty) in fields() {
            line(&mut text, &format!("    pub {name}: {ty},"));
        }
        if let Change::Field(n) = change {
            line(&mut text, &format!("    pub added_{n}: Option<i32>,"));
        }
        text.push_str("}\n\n");
        let limit = if let Change::Body(n) = change {
            1_000 + n
        } else {
            10
        };
        text.push_str(&match self {
            Self::Typed | Self::TypedAndSerde => typed_queries(limit),
            Self::SerdeOnly => document_queries(limit),
        });
        text
    }

    fn header(self, number: usize) -> String {
        match self {
            Self::Typed => typed_header(number, "", ""),
            Self::TypedAndSerde => typed_header(
                number,
                "use serde::{Deserialize, Serialize};\n",
                "Serialize, Deserialize, ",
            ),
            Self::SerdeOnly => format!(
                "use marula::driver::{{Database, Result, bson::{{DateTime, Document, ObjectId, doc}}}};\n\
                 use serde::{{Deserialize, Serialize}};\n\n\
                 #[derive(Clone, Debug, Serialize, Deserialize)]\npub struct Part {{\n    pub sku: String,\n    pub qty: i32,\n}}\n\n\
                 pub const COLLECTION: &str = \"c{number}\";\n\n\
                 #[derive(Clone, Debug, Serialize, Deserialize)]\npub struct Model {{\n"
            ),
        }
    }
}

fn typed_header(number: usize, import: &str, derives: &str) -> String {
    format!(
        "use marula::{{Database, Document, Embedded, Result, bson::{{DateTime, ObjectId}}, prelude::*}};\n{import}\n\
         #[derive(Clone, Debug, {derives}Embedded)]\npub struct Part {{\n    pub sku: String,\n    pub qty: i32,\n}}\n\n\
         #[derive(Clone, Debug, {derives}Document)]\n\
         #[document(collection = \"c{number}\", index(name, -created), index(parts.sku))]\npub struct Model {{\n"
    )
}

/// Names and types of the fields.
fn fields() -> Vec<(String, &'static str)> {
    let named = [
        ("_id", "ObjectId"),
        ("name", "String"),
        ("count", "i64"),
        ("created", "DateTime"),
        ("note", "Option<String>"),
        ("tags", "Vec<String>"),
        ("parts", "Vec<Part>"),
        ("part", "Option<Part>"),
    ];
    let types = ["i32", "i64", "f64", "bool", "String", "Option<i32>"];
    let mut fields: Vec<_> = named.map(|(name, ty)| (name.to_owned(), ty)).into();
    let more = FIELDS - fields.len();
    fields.extend((0..more).map(|n| (format!("field_{n}"), types[n % types.len()])));
    fields
}

fn typed_queries(limit: usize) -> String {
    format!(
        "pub async fn list(db: &Database, name: &str, least: i64) -> Result<Vec<Model>> {{
    let models = db.collection::<Model>();
    models.find(|m| m.name().eq(name) & m.count().gte(least)).sort(|m| m.created().desc()).limit({limit}).all().await
}}

pub async fn first(db: &Database, sku: &str) -> Result<Option<Model>> {{
    db.collection::<Model>().find_one(|m| m.parts().elem_match(|p| p.sku().eq(sku) & p.qty().gt(0)) | m.part().sku().eq(sku)).await
}}

pub async fn change(db: &Database, id: ObjectId, tag: &str) -> Result<()> {{
    db.collection::<Model>().update_by_id(id, |m| (m.tags().push(tag), m.count().inc(1), m.note().set(tag))).await?;
    Ok(())
}}

pub async fn count(db: &Database, name: &str) -> Result<u64> {{
    db.collection::<Model>().count(|m| m.name().eq(name) & m.field_3().eq(true)).await
}}

pub async fn remove(db: &Database, before: DateTime) -> Result<()> {{
    db.collection::<Model>().delete_many(|m| m.created().lt(before)).await?;
    Ok(())
}}
"
    )
}

fn document_queries(limit: usize) -> String {
    format!(
        "pub async fn list(db: &Database, name: &str, least: i64) -> Result<Vec<Model>> {{
    let models = db.collection::<Model>(COLLECTION);
    let filter = doc! {{ \"name\": name, \"count\": {{ \"$gte\": least }} }};
    models.find(filter).sort(doc! {{ \"created\": -1 }}).limit({limit}).await?.try_collect().await
}}

pub async fn first(db: &Database, sku: &str) -> Result<Option<Model>> {{
    let part = doc! {{ \"$elemMatch\": {{ \"sku\": sku, \"qty\": {{ \"$gt\": 0 }} }} }};
    db.collection::<Model>(COLLECTION).find_one(doc! {{ \"$or\": [{{ \"parts\": part }}, {{ \"part.sku\": sku }}] }}).await
}}

pub async fn change(db: &Database, id: ObjectId, tag: &str) -> Result<()> {{
    let update = doc! {{ \"$push\": {{ \"tags\": tag }}, \"$inc\": {{ \"count\": 1 }}, \"$set\": {{ \"note\": tag }} }};
    db.collection::<Document>(COLLECTION).update_one(doc! {{ \"_id\": id }}, update).await?;
    Ok(())
}}

pub async fn count(db: &Database, name: &str) -> Result<u64> {{
    db.collection::<Document>(COLLECTION).count_documents(doc! {{ \"name\": name, \"field_3\": true }}).await
}}

pub async fn remove(db: &Database, before: DateTime) -> Result<()> {{
    db.collection::<Document>(COLLECTION).delete_many(doc! {{ \"created\": {{ \"$lt\": before }} }}).await?;
    Ok(())
}}
"
    )
}

fn line(text: &mut String, content: &str) {
    // Writing to a string succeeds.
    writeln!(text, "{content}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_as_many_fields_and_queries_as_stated() {
        for form in [Form::Typed, Form::TypedAndSerde, Form::SerdeOnly] {
            let module = form.module(3, Change::None);
            let (_, model) = module.split_once("pub struct Model {").unwrap();
            let (declared, queries) = model.split_once("\n}\n").unwrap();
            assert_eq!(declared.matches("pub ").count(), FIELDS, "{form:?}");
            assert_eq!(queries.matches("pub async fn").count(), QUERIES, "{form:?}");
        }
    }

    #[test]
    fn every_change_differs_from_the_one_before() {
        let texts = [
            Change::None,
            Change::Body(0),
            Change::Body(1),
            Change::Field(0),
            Change::Field(1),
        ]
        .map(|change| Form::Typed.module(0, change));
        for pair in texts.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
