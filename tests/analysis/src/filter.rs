//! Filters.

use bson::{Bson, Document, doc};

use crate::{
    error::{Analyzed, reject},
    queryable::{Query, QueryableField},
    range::Comparison,
    schema::{Field, PlainField, Target},
    value::{Marker, is_encrypted},
};

const INVALID: &str = "Invalid match expression operator on encrypted field";

impl Marker<'_> {
    /// Marks the operands of a filter.
    pub(crate) fn mark_filter(&mut self, filter: &Document) -> Analyzed<Document> {
        let mut marked = Document::new();
        let mut conditions = Vec::new();
        for (key, value) in filter {
            let value = match key.as_str() {
                "$and" | "$or" | "$nor" => self.mark_filters(value)?,
                "$expr" => self.mark_expression(value)?,
                "$text" | "$where" if !self.schema.is_empty() => {
                    return reject(format!(
                        "Unsupported match expression operator for encryption: {key}"
                    ));
                }
                _ if key.starts_with('$') => value.clone(),
                path => match self.schema.target(path) {
                    Target::Plain => value.clone(),
                    Target::Below(_) => return reject(format!("{INVALID}: '{path}' is below one")),
                    Target::Encrypted(Field::Plain(field)) => {
                        let field = field.clone();
                        self.mark_operand(&field, value)?
                    }
                    Target::Encrypted(Field::Queryable(field)) => {
                        let field = field.clone();
                        match self.mark_queryable(path, &field, value, &mut conditions)? {
                            operators if operators.is_empty() => continue,
                            operators => Bson::Document(operators),
                        }
                    }
                },
            };
            marked.insert(key, value);
        }
        match marked.get_mut("$and") {
            _ if conditions.is_empty() => {}
            Some(Bson::Array(all)) => all.extend(conditions),
            _ => {
                marked.insert("$and", conditions);
            }
        }
        Ok(marked)
    }

    /// The operators on a field of Queryable Encryption. Conditions that are not operators are added to `conditions`.
    fn mark_queryable(
        &mut self,
        path: &str,
        field: &QueryableField,
        operand: &Bson,
        conditions: &mut Vec<Bson>,
    ) -> Analyzed<Document> {
        let equality;
        let operators = match operand {
            Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => operators,
            Bson::RegularExpression(_) => return reject(INVALID),
            value => {
                equality = doc! { "$eq": value.clone() };
                &equality
            }
        };
        let mut marked = Document::new();
        let mut comparisons = Vec::new();
        for (operator, value) in operators {
            if is_encrypted(value) {
                marked.insert(operator, value.clone());
                continue;
            }
            match (operator.as_str(), Comparison::of(operator), field.range()) {
                (_, Some(comparison), Some(_)) => comparisons.push((comparison, value)),
                ("$not", ..) => {
                    let mut inner = Vec::new();
                    let operators = self.mark_queryable(path, field, value, &mut inner)?;
                    inner.push(Bson::Document(doc! { path: operators }));
                    conditions.push(Bson::Document(doc! { "$nor": [{ "$and": inner }] }));
                }
                ("$exists", ..) => {
                    marked.insert(operator, value.clone());
                }
                _ => {
                    let (values, is_negated) = equality_operands(operator, value)?;
                    let Some(range) = field.range() else {
                        marked.insert(operator, self.mark_equal(field, value)?);
                        continue;
                    };
                    let equal: Analyzed<Vec<Bson>> = values
                        .iter()
                        .map(|value| {
                            Ok(Bson::Document(
                                doc! { path: self.mark_equal_range(field, range, value)? },
                            ))
                        })
                        .collect();
                    match (equal?, is_negated) {
                        (equal, true) => conditions.push(Bson::Document(doc! { "$nor": equal })),
                        (equal, false) => conditions.push(Bson::Document(doc! { "$or": equal })),
                    }
                }
            }
        }
        if let (false, Some(range)) = (comparisons.is_empty(), field.range()) {
            marked.extend(self.mark_range(field, range, &comparisons)?);
        }
        Ok(marked)
    }

    /// The operand of an operator for equality.
    fn mark_equal(&mut self, field: &QueryableField, operand: &Bson) -> Analyzed<Bson> {
        match operand {
            Bson::Array(values) if field.queries.contains(&Query::Equality) => {
                let marked: Analyzed<Vec<Bson>> =
                    values.iter().map(|value| self.mark_equal(field, value)).collect();
                marked.map(Bson::Array)
            }
            value if is_encrypted(value) => Ok(value.clone()),
            value => {
                self.count += 1;
                field.equal_to(value)
            }
        }
    }

    fn mark_filters(&mut self, filters: &Bson) -> Analyzed<Bson> {
        let Bson::Array(filters) = filters else {
            return reject("$and, $or and $nor must be arrays");
        };
        let marked: Analyzed<Vec<Bson>> = filters
            .iter()
            .map(|filter| match filter {
                Bson::Document(filter) => self.mark_filter(filter).map(Bson::Document),
                _ => reject("$and, $or and $nor must contain documents"),
            })
            .collect();
        marked.map(Bson::Array)
    }

    fn mark_operand(&mut self, field: &PlainField, operand: &Bson) -> Analyzed<Bson> {
        match operand {
            Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => {
                let mut marked = Document::new();
                for (operator, value) in operators {
                    marked.insert(operator, self.mark_operator(field, operator, value)?);
                }
                Ok(Bson::Document(marked))
            }
            Bson::RegularExpression(_) => reject(INVALID),
            value => Ok(Bson::Document(
                doc! { "$eq": self.mark_operator(field, "$eq", value)? },
            )),
        }
    }

    fn mark_operator(&mut self, field: &PlainField, operator: &str, value: &Bson) -> Analyzed<Bson> {
        match (operator, value) {
            ("$exists", value) => Ok(value.clone()),
            ("$not", operand) => self.mark_operand(field, operand),
            _ => match (equality_operands(operator, value)?.0, value) {
                (values, Bson::Array(_)) => {
                    let marked: Analyzed<Vec<Bson>> = values
                        .iter()
                        .map(|value| self.mark_queried(field, value))
                        .collect();
                    marked.map(Bson::Array)
                }
                (_, value) => self.mark_queried(field, value),
            },
        }
    }

    fn mark_queried(&mut self, field: &PlainField, value: &Bson) -> Analyzed<Bson> {
        if field.is_random {
            return reject("Cannot query on fields encrypted with the randomized encryption algorithm");
        }
        self.mark(field, value, None)
    }
}

/// The operands of an operator for equality, and whether it is negated.
///
/// # Errors
/// It is another operator, or an operand is null.
fn equality_operands<'v>(operator: &str, value: &'v Bson) -> Analyzed<(&'v [Bson], bool)> {
    match (operator, value) {
        ("$eq" | "$ne", Bson::Null) => reject("Illegal equality to null predicate for encrypted field"),
        ("$eq" | "$ne", value) => Ok((std::slice::from_ref(value), operator == "$ne")),
        ("$in" | "$nin", Bson::Array(values)) if values.contains(&Bson::Null) => {
            reject("Illegal equality to null inside $in against an encrypted field")
        }
        ("$in" | "$nin", Bson::Array(values)) => Ok((values, operator == "$nin")),
        _ => reject(format!("{INVALID}: {operator}")),
    }
}

/// The filter with `$eq` in place of values.
pub(crate) fn with_operators(filter: &Document) -> Document {
    let operand = |value: &Bson| match value {
        Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => value.clone(),
        Bson::RegularExpression(_) => value.clone(),
        value => Bson::Document(doc! { "$eq": value.clone() }),
    };
    let each = |filters: &Bson| match filters {
        Bson::Array(filters) => Bson::Array(
            filters
                .iter()
                .map(|filter| match filter {
                    Bson::Document(filter) => Bson::Document(with_operators(filter)),
                    other => other.clone(),
                })
                .collect(),
        ),
        other => other.clone(),
    };
    filter
        .iter()
        .map(|(key, value)| {
            let value = match key.as_str() {
                "$and" | "$or" | "$nor" => each(value),
                key if key.starts_with('$') => value.clone(),
                _ => operand(value),
            };
            (key.clone(), value)
        })
        .collect()
}
