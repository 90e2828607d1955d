//! Filters: operands that are find payloads become conditions on `__safeContent__`.

use super::payload::FindPayload;
use super::schema::{EncryptedCollection, Schema};
use super::{SAFE_CONTENT, state};
use crate::error::Result;
use crate::storage::Catalog;
use bson::{Bson, Document, doc};

/// Replaces the find payloads of a command.
pub(super) struct Queries<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) schema: &'c Schema,
    pub(super) database: &'c str,
    /// The collection that the filter is evaluated on. `None`: it is not encrypted.
    pub(super) collection: Option<&'c EncryptedCollection>,
}

/// What a find payload stands for.
pub(super) enum Operand {
    /// Documents with one of these tags.
    Tags(Vec<Bson>),
    /// All documents: the tags are those of another operand.
    All,
}

impl<'c> Queries<'c> {
    /// The same command's queries of another collection of the database.
    pub(super) fn of(&self, collection: &str) -> Queries<'c> {
        Queries {
            collection: self.schema.get(&format!("{}.{collection}", self.database)),
            ..*self
        }
    }

    /// Reads a find payload. `None` for other values.
    pub(super) fn operand(&self, value: &Bson) -> Result<Option<Operand>> {
        let Some(payload) = FindPayload::read(value)? else {
            return Ok(None);
        };
        let FindPayload::Sets { sets, contention } = payload else {
            return Ok(Some(Operand::All));
        };
        let Some(collection) = self.collection else {
            return Err(super::malformed("the collection is not encrypted"));
        };
        let tags = state::tags(self.catalog, collection, &sets, contention);
        Ok(Some(Operand::Tags(tags)))
    }

    /// Replaces the payloads of a filter.
    pub(super) fn filter(&self, filter: &Document) -> Result<Document> {
        let mut rewritten = Document::new();
        let mut conditions = Vec::new();
        for (key, value) in filter {
            let value = match (key.as_str(), value) {
                ("$and" | "$or" | "$nor", Bson::Array(filters)) => {
                    let each = |filter: &Bson| match filter {
                        Bson::Document(filter) => self.filter(filter).map(Bson::Document),
                        other => Ok(other.clone()),
                    };
                    filters.iter().map(each).collect::<Result<Vec<_>>>()?.into()
                }
                ("$expr", expression) => self.expression(expression)?,
                (key, value) if key.starts_with('$') => value.clone(),
                (path, value) => match self.field(path, value, &mut conditions)? {
                    Some(value) => value,
                    None => continue,
                },
            };
            rewritten.insert(key, value);
        }
        add_conditions(&mut rewritten, conditions);
        Ok(rewritten)
    }

    /// The condition that remains on a field, if any. Those on tags are added to `conditions`.
    fn field(&self, path: &str, value: &Bson, conditions: &mut Vec<Document>) -> Result<Option<Bson>> {
        if FindPayload::is_one(value) {
            conditions.extend(self.operator("$eq", value)?);
            return Ok(None);
        }
        let operators = match value {
            Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => operators,
            other => return Ok(Some(other.clone())),
        };
        let mut plain = Document::new();
        let before = conditions.len();
        let mut has_payload = false;
        for (operator, operand) in operators {
            match (operator.as_str(), operand) {
                ("$not", operand) if has_payloads(operand) => {
                    has_payload = true;
                    conditions.push(doc! { "$nor": [self.filter(&doc! { path: operand.clone() })?] });
                }
                (operator, operand) if has_payloads(operand) => {
                    has_payload = true;
                    conditions.extend(self.operator(operator, operand)?);
                }
                (operator, operand) => {
                    plain.insert(operator, operand.clone());
                }
            }
        }
        if has_payload && plain.is_empty() {
            return Ok(None);
        }
        debug_assert!(has_payload || conditions.len() == before);
        Ok(Some(Bson::Document(plain)))
    }

    /// The condition of an operator whose operand has payloads. `None`: it is met by all documents.
    fn operator(&self, operator: &str, operand: &Bson) -> Result<Option<Document>> {
        let operands = match operand {
            Bson::Array(operands) => operands.as_slice(),
            operand => std::slice::from_ref(operand),
        };
        let mut tags = Vec::new();
        for operand in operands {
            match self.operand(operand)? {
                Some(Operand::Tags(some)) => tags.extend(some),
                Some(Operand::All) => return Ok(None),
                None => return Err(super::malformed("an operand is not encrypted")),
            }
        }
        let condition = doc! { SAFE_CONTENT: { "$in": tags } };
        Ok(Some(match operator {
            "$eq" | "$in" | "$gt" | "$gte" | "$lt" | "$lte" => condition,
            "$ne" | "$nin" => doc! { "$nor": [condition] },
            other => return Err(super::malformed(&format!("the operator {other}"))),
        }))
    }
}

/// Whether an operand has find payloads.
fn has_payloads(operand: &Bson) -> bool {
    match operand {
        Bson::Array(operands) => operands.iter().any(FindPayload::is_one),
        Bson::Document(operators) => operators.values().any(has_payloads),
        operand => FindPayload::is_one(operand),
    }
}

/// Adds conditions to a filter.
fn add_conditions(filter: &mut Document, conditions: Vec<Document>) {
    if conditions.is_empty() {
        return;
    }
    if let [condition] = conditions.as_slice()
        && !condition.keys().any(|key| filter.contains_key(key))
    {
        filter.extend(condition.clone());
        return;
    }
    let conditions = conditions.into_iter().map(Bson::Document);
    match filter.get_mut("$and") {
        Some(Bson::Array(all)) => all.extend(conditions),
        _ => {
            filter.insert("$and", conditions.collect::<Vec<_>>());
        }
    }
}
