//! The rows of a scoped handle: the documents whose fields have the values that the scope fixes.

use std::sync::Arc;

use crate::{
    ast::filter::{Leaf, Mark, Node, Op},
    base::{
        bson::{Bson, Document, RawDocument},
        error::{Error, Result},
    },
    document::decode::lookup,
    driver::Namespace,
    form::json_schema::is_in_array,
    models::model::{Fields, Model},
    query::handle::{
        Collection, filter_of,
        protection::{encrypted_fields, on_encrypted},
        soft_delete::WITHOUT_DOCUMENTS,
    },
    term::filter::Filter,
};

/// The condition of a scope.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    condition: Node,
    fixed: Vec<Fixed>,
}

/// A field, and the values of which it has one.
#[derive(Clone, Debug)]
struct Fixed {
    path: String,
    values: Vec<Bson>,
}

/// The rows of a handle. The error of an invalid scope is that of every call.
pub(in crate::query) type ScopedRows = Option<Arc<Result<Rows>>>;

impl<D: Model> Collection<D> {
    /// The same collection with only the documents whose fields have these values, such as those of one tenant or one owner.
    ///
    /// Every call of the handle has the condition: reads, counts, updates, replacements, deletes, bulk writes, pipelines (as their
    /// first `$match`, and in the filter of a [`vector_search`](crate::Pipeline::vector_search)) and change events. Documents that
    /// are inserted or replaced must have the values, and updates cannot change these fields. An upsert stores the value; it needs a
    /// scope with one value of each field. Scopes of a scope must all match.
    ///
    /// The filter consists of `eq` and `is_in` of fields outside of arrays, combined by `&`, that are neither encrypted nor maintained by
    /// the ODM. With another filter, and with one without conditions, calls fail with [`Error::InvalidFilter`] before anything is sent.
    ///
    /// - Change events have their condition on the full document, which updates have by `UpdateLookup`: deletes have none, and are left
    ///   out, as are updates of documents that were deleted since. The document is the present one: a stream that reads late can see
    ///   updates from before the document came into the scope.
    /// - [`estimated_count`](Collection::estimated_count), raw writes of [`bulk`](Collection::bulk), and stages that write into the
    ///   collection itself, are errors.
    /// - The collections that a lookup or a union reads have no scope of their own: give it the handle of the other collection by
    ///   [`within`](crate::aggregate::Lookup::within). The collection itself cannot be joined or united, and stages that return other documents, such as `$collStats`, are errors.
    /// - The server compares by the collation of a call or a collection, also in the condition of the scope: with one that ignores case,
    ///   a scope of "acme" includes the documents of "ACME".
    ///
    /// A scope prevents mistakes; it does not replace access control: [`driver`](Collection::driver), commands and raw stages that
    /// read a collection have none.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let own = orders.scoped(|o| o.customer().eq(1));
    /// assert!(own.find_all().await?.iter().all(|order| order.customer == 1));
    /// own.update_many(|o| o.total().lt(100), |o| o.tags().push("small")).await?;
    /// let foreign = Order { customer: 2, ..order(9) };
    /// assert!(own.insert_one(&foreign).await.is_err());
    /// # Ok(()) });
    /// ```
    #[must_use]
    #[doc(alias = "tenant")]
    #[doc(alias = "row_level")]
    pub fn scoped(&self, rows: impl FnOnce(Fields<D>) -> Filter<D>) -> Self {
        let rows = filter_of::<D>(rows).and_then(Rows::of::<D>);
        let rows = match self.rows.as_deref() {
            None => rows,
            Some(outer) => outer.clone().and_then(|outer| Ok(outer.and(rows?))),
        };
        self.with_rows(Arc::new(rows))
    }
}

impl Rows {
    fn of<D: Model>(condition: Node) -> Result<Self> {
        if let Some(Ok(fields)) = encrypted_fields::<D>()
            && let Some(path) = on_encrypted(fields, &condition)
        {
            return Err(Error::filter(
                path,
                "the field is encrypted, so that a scope cannot fix it",
            ));
        }
        let rows = Self::of_values(condition)?;
        let behavior = D::BEHAVIOR;
        let maintained = [
            behavior.version,
            behavior.created_at,
            behavior.updated_at,
            behavior.soft_delete,
            behavior.schema.map(|schema| schema.field),
        ];
        if let Some(path) = rows.paths().find(|path| maintained.contains(&Some(*path))) {
            return Err(Error::filter(
                path,
                "the ODM maintains the field, so that a scope cannot fix it",
            ));
        }
        let schema = <D as Model>::json_schema();
        if let Some(path) = rows.paths().find(|path| is_in_array(&schema, path)) {
            return Err(Error::filter(
                path,
                "the field is an array or inside of one, whose elements can have different values, so that a scope cannot fix it",
            ));
        }
        Ok(rows)
    }

    fn of_values(condition: Node) -> Result<Self> {
        let mut fixed = Vec::new();
        collect(&condition, &mut fixed)?;
        if fixed.is_empty() {
            return Err(Error::filter(
                "",
                "a scope needs conditions: give `eq` or `is_in` of each field that it fixes",
            ));
        }
        Ok(Rows { condition, fixed })
    }

    fn and(self, other: Self) -> Self {
        Rows {
            condition: self.condition.and(other.condition),
            fixed: [self.fixed, other.fixed].concat(),
        }
    }

    /// A filter with the condition.
    pub(in crate::query) fn restrict(&self, filter: Node) -> Node {
        filter.and(self.condition.clone())
    }

    pub(in crate::query) fn condition(&self) -> &Node {
        &self.condition
    }

    /// The condition in the filter of `$vectorSearch`, without the fields that can be null: null finds no missing fields there.
    pub(in crate::query) fn indexed_condition(&self) -> Option<Document> {
        let has_no_null = |fixed: &&Fixed| !fixed.values.contains(&Bson::Null);
        let leaves = self.fixed.iter().filter(has_no_null);
        let leaves = leaves.map(|fixed| Node::leaf(fixed.path.clone(), Op::In(fixed.values.clone())));
        let condition = leaves.fold(Node::Default, Node::and);
        (!condition.is_empty()).then(|| condition.to_document())
    }

    pub(in crate::query) fn paths(&self) -> impl Iterator<Item = &str> {
        self.fixed.iter().map(|fixed| &*fixed.path)
    }

    /// Rejects a document to write that is not one of the rows.
    pub(in crate::query) fn check_document(&self, document: &RawDocument, own: &Namespace) -> Result<()> {
        for Fixed { path, values } in &self.fixed {
            let found = lookup(document, path).unwrap_or(Bson::Null);
            if !values.iter().any(|value| is_equal(value, &found)) {
                return Err(Error::OutOfScope {
                    collection: own.to_string(),
                    path: path.clone(),
                });
            }
        }
        Ok(())
    }

    /// The error of an update of a field that the kind of the model or the scope fixes.
    pub(in crate::query) fn fixed_field(path: &str) -> Error {
        Error::update(
            path,
            "the scope of the handle, or the kind of the model, fixes the value of this field, so that an update cannot change it",
        )
    }

    /// Rejects an upsert that does not show which value of a field it would store.
    pub(in crate::query) fn check_upsert(&self) -> Result<()> {
        let is_known = |path: &str| {
            let mut fixed = self.fixed.iter();
            fixed.any(|fixed| fixed.path == path && fixed.values.len() == 1)
        };
        match self.fixed.iter().find(|fixed| !is_known(&fixed.path)) {
            Some(fixed) => Err(Error::filter(
                &*fixed.path,
                "the scope of the handle allows several values of this field, so that an upsert does not know which one to store: \
                 use a scope of one value, or insert and update in two calls",
            )),
            None => Ok(()),
        }
    }

    /// Rejects a stage that replaces the whole collection, which would remove the documents of other kinds.
    pub(in crate::query) fn check_out(stages: &[Document], own: &Namespace) -> Result<()> {
        let is_own = |stage: &Document| {
            let out = stage.get("$out");
            out.is_some_and(|argument| targets("$out", argument).is_some_and(|target| target.is(own)))
        };
        match stages.last() {
            Some(last) if is_own(last) => Err(Error::pipeline(
                "",
                format!("`$out` into `{own}` would remove the documents of other kinds; use `merge_into`"),
            )),
            _ => Ok(()),
        }
    }

    /// Rejects stages that read or write documents outside of the scope: those that write into the collection itself or join it, and
    /// first stages whose documents are not those of the collection.
    pub(in crate::query) fn check_stages(stages: &[Document], own: &Namespace) -> Result<()> {
        for (name, argument) in stages.iter().flatten() {
            let reason = if WITHOUT_DOCUMENTS.contains(&name.as_str()) {
                "returns other documents than those of the collection, which the scope of the handle cannot be applied to"
            } else if targets(name, argument).is_some_and(|target| target.is(own)) {
                "reads or writes documents of the collection outside of the scope of the handle"
            } else {
                nested(argument).try_for_each(|stages| Self::check_stages(&stages, own))?;
                continue;
            };
            return Err(Error::pipeline(
                "",
                format!("`{name}` {reason}; use a handle without a scope"),
            ));
        }
        Ok(())
    }
}

/// The collection that a stage reads or writes beside its own.
struct Target<'a> {
    database: Option<&'a str>,
    collection: &'a str,
}

impl Target<'_> {
    fn is(&self, own: &Namespace) -> bool {
        self.collection == own.collection && self.database.is_none_or(|database| database == own.database)
    }
}

fn targets<'a>(stage: &str, argument: &'a Bson) -> Option<Target<'a>> {
    let key = match stage {
        "$out" | "$unionWith" => "coll",
        "$merge" => "into",
        "$lookup" | "$graphLookup" => "from",
        _ => return None,
    };
    match argument {
        Bson::String(collection) => Some(Target {
            database: None,
            collection,
        }),
        Bson::Document(options) => match options.get(key)? {
            Bson::String(collection) => Some(Target {
                database: options.get_str("db").ok(),
                collection,
            }),
            Bson::Document(into) => Some(Target {
                database: into.get_str("db").ok(),
                collection: into.get_str("coll").ok()?,
            }),
            _ => None,
        },
        _ => None,
    }
}

/// The pipelines in the argument of a stage.
fn nested(argument: &Bson) -> impl Iterator<Item = Vec<Document>> {
    let fields = argument.as_document().into_iter().flat_map(Document::values);
    fields.filter_map(|value| {
        let stages = value.as_array()?.iter();
        stages.map(|stage| stage.as_document().cloned()).collect()
    })
}

/// Adds the values that conditions fix.
fn collect(node: &Node, fixed: &mut Vec<Fixed>) -> Result<()> {
    let invalid = |path: &str| {
        Error::filter(
            path,
            "a scope consists of `eq` and `is_in` of fields outside of arrays and of encrypted fields, combined by `&`",
        )
    };
    if let Node::Fields(parts) | Node::All(parts) = node {
        return parts.iter().try_for_each(|part| collect(part, fixed));
    }
    let Node::Leaf(Leaf {
        path,
        op,
        mark: Mark::Plain,
    }) = node
    else {
        return Err(invalid(""));
    };
    let values = match op {
        Op::Is(value) | Op::Eq(value) => vec![value.clone()],
        Op::In(values) => values.clone(),
        _ => return Err(invalid(path)),
    };
    // A position names an element of an array.
    if path
        .split('.')
        .any(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Err(invalid(path));
    }
    fixed.push(Fixed {
        path: path.to_string(),
        values,
    });
    Ok(())
}

/// Whether two values are equal on the server: numbers are so across their types.
fn is_equal(a: &Bson, b: &Bson) -> bool {
    fn number(value: &Bson) -> Option<i64> {
        match value {
            Bson::Int32(value) => Some(i64::from(*value)),
            Bson::Int64(value) => Some(*value),
            // The largest integer that every smaller one has a double of.
            #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
            Bson::Double(value) if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 => {
                Some(*value as i64)
            }
            _ => None,
        }
    }
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    fn rows(filter: Node) -> Result<Rows> {
        Rows::of_values(filter)
    }

    #[test]
    fn arrays_are_found_in_the_schema() {
        let schema = doc! { "bsonType": "object", "properties": {
            "tags": { "bsonType": ["array", "null"] },
            "a": { "anyOf": [
                { "bsonType": "null" },
                { "bsonType": "object", "properties": { "b": { "items": {} }, "c": { "bsonType": "int" } } },
            ] },
        } };
        for (path, expected) in [
            ("tags", true),
            ("tags.x", true),
            ("a.b", true),
            ("a.b.x", true),
            ("a", false),
            ("a.c", false),
            ("x.tags", false),
        ] {
            assert_eq!(is_in_array(&schema, path), expected, "{path}");
        }
    }

    #[test]
    fn stages_that_leave_the_scope_are_rejected() {
        let own = Namespace::new("shop", "orders");
        let check = |stage: Document| Rows::check_stages(&[stage], &own);
        for stage in [
            doc! { "$out": "orders" },
            doc! { "$merge": { "into": { "db": "shop", "coll": "orders" } } },
            doc! { "$lookup": { "from": "orders", "as": "x" } },
            doc! { "$unionWith": "orders" },
            doc! { "$facet": { "all": [{ "$unionWith": { "coll": "orders" } }] } },
            doc! { "$lookup": { "from": "x", "pipeline": [{ "$graphLookup": { "from": "orders" } }] } },
            doc! { "$collStats": {} },
        ] {
            assert!(check(stage.clone()).is_err(), "{stage}");
        }
        for stage in [
            doc! { "$out": { "db": "archive", "coll": "orders" } },
            doc! { "$lookup": { "from": "customers", "pipeline": [{ "$match": { "x": 1 } }] } },
            doc! { "$match": { "$or": [{ "from": "orders" }] } },
        ] {
            assert!(check(stage.clone()).is_ok(), "{stage}");
        }
    }

    #[test]
    fn only_values_of_fields_are_a_scope() {
        let eq = |path: &'static str| Node::leaf(path, Op::Eq(1.into()));
        for node in [
            eq("a"),
            eq("a").and(eq("b.c")),
            Node::leaf("a", Op::In(vec![1.into()])),
        ] {
            assert!(rows(node).is_ok());
        }
        for node in [
            Node::Default,
            Node::Everything,
            Node::without_conditions(),
            eq("a").or(eq("b")),
            eq("a").not(),
            eq("a").and(Node::leaf("b", Op::Gt(1.into()))),
            eq("lines.0"),
            Node::leaf("a", Op::Exists(true)),
        ] {
            assert!(rows(node.clone()).is_err(), "{node:?}");
        }
    }

    #[test]
    fn documents_have_the_values_of_the_scope() {
        let scope = rows(Node::leaf("a.b", Op::In(vec![1.into(), "x".into()]))).unwrap();
        let check = |document: Document| {
            let raw = crate::base::bson::to_raw_document(&document).unwrap();
            scope.check_document(&raw, &Namespace::new("shop", "orders"))
        };
        for value in [Bson::Int32(1), Bson::Int64(1), Bson::Double(1.0), "x".into()] {
            assert!(check(doc! { "a": { "b": value.clone() } }).is_ok(), "{value}");
        }
        for document in [
            doc! { "a": { "b": 2 } },
            doc! { "a": { "b": [1] } },
            doc! { "a": [{ "b": 1 }] },
            doc! { "b": 1 },
            doc! { "a": { "b": 1.5 } },
        ] {
            assert!(check(document.clone()).is_err(), "{document}");
        }
    }
}
