//! Expressions on fields of Queryable Encryption.

use bson::{Bson, Document, bson};

use crate::{
    error::{Analyzed, reject},
    queryable::{Part, QueryableField},
    range::Comparison,
    schema::{Field, Target},
    value::{Marker, is_encrypted},
};

impl Marker<'_> {
    /// Marks the operands that are compared with encrypted fields.
    pub(crate) fn mark_expression(&mut self, expression: &Bson) -> Analyzed<Bson> {
        match expression {
            Bson::Array(items) => {
                let marked: Analyzed<Vec<Bson>> =
                    items.iter().map(|item| self.mark_expression(item)).collect();
                marked.map(Bson::Array)
            }
            Bson::Document(document) => {
                let mut marked = Document::new();
                for (operator, operands) in document {
                    let operands = match (part_of(operator), operands) {
                        (Some((part, name)), Bson::Document(operands)) => {
                            Bson::Document(self.mark_part(part, name, operands)?)
                        }
                        (None, Bson::Array(operands)) => match self.mark_comparison(operator, operands)? {
                            Some(marked) => marked,
                            None => self.mark_expression(&Bson::Array(operands.clone()))?,
                        },
                        (_, operands) => self.mark_expression(operands)?,
                    };
                    marked.insert(operator, operands);
                }
                Ok(Bson::Document(marked))
            }
            other => Ok(other.clone()),
        }
    }

    /// The field of Queryable Encryption that an expression is.
    fn queryable(&self, expression: &Bson) -> Option<QueryableField> {
        let path = expression.as_str()?.strip_prefix('$')?;
        match self.schema.target(path) {
            Target::Encrypted(Field::Queryable(field)) => Some(field.clone()),
            _ => None,
        }
    }

    fn mark_part(&mut self, part: Part, name: &str, operands: &Document) -> Analyzed<Document> {
        let mut marked = operands.clone();
        let field = operands.get("input").and_then(|input| self.queryable(input));
        match (field, marked.get_mut(name)) {
            (_, Some(value)) if is_encrypted(value) => {}
            (Some(field), Some(value)) => {
                *value = field.containing(part, value)?;
                self.count += 1;
            }
            _ => {
                return reject(format!(
                    "'input' must be an encrypted field, and '{name}' a string"
                ));
            }
        }
        Ok(marked)
    }

    /// The operands of a comparison of an encrypted field with a value. `None` for other expressions.
    fn mark_comparison(&mut self, operator: &str, operands: &[Bson]) -> Analyzed<Option<Bson>> {
        let [input, value] = operands else {
            return Ok(None);
        };
        let Some(field) = self.queryable(input).filter(|_| !is_encrypted(value)) else {
            return Ok(None);
        };
        let marked = match (operator, Comparison::of(operator), field.range()) {
            ("$eq" | "$ne", _, None) => {
                self.count += 1;
                field.equal_to(value)?
            }
            (_, Some(comparison), Some(range)) => {
                let marked = self.mark_range(&field, range, &[(comparison, value)])?;
                marked.get(operator).cloned().unwrap_or(Bson::Null)
            }
            _ => return reject(format!("Invalid expression on an encrypted field: {operator}")),
        };
        Ok(Some(bson!([input.clone(), marked])))
    }
}

/// The part of a string that an operator searches, and the name of its operand.
fn part_of(operator: &str) -> Option<(Part, &'static str)> {
    Some(match operator {
        "$encStrStartsWith" => (Part::Prefix, "prefix"),
        "$encStrEndsWith" => (Part::Suffix, "suffix"),
        "$encStrContains" => (Part::Substring, "substring"),
        _ => return None,
    })
}
