//! Filters.

use marula_driver::bson::{Bson, Document, doc};

use super::{
    error::{Analyzed, reject},
    schema::{Field, Target},
    value::Marker,
};

const INVALID: &str = "Invalid match expression operator on encrypted field";

impl Marker<'_> {
    /// Marks the operands of a filter.
    pub(super) fn mark_filter(&mut self, filter: &Document) -> Analyzed<Document> {
        let mut marked = Document::new();
        for (key, value) in filter {
            let value = match key.as_str() {
                "$and" | "$or" | "$nor" => self.mark_filters(value)?,
                "$text" | "$where" if !self.schema.is_empty() => {
                    return reject(format!(
                        "Unsupported match expression operator for encryption: {key}"
                    ));
                }
                _ if key.starts_with('$') => value.clone(),
                path => match self.schema.target(path) {
                    Target::Plain => value.clone(),
                    Target::Below(_) => return reject(format!("{INVALID}: '{path}' is below one")),
                    Target::Encrypted(field) => {
                        let field = field.clone();
                        self.mark_operand(&field, value)?
                    }
                },
            };
            marked.insert(key, value);
        }
        Ok(marked)
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

    fn mark_operand(&mut self, field: &Field, operand: &Bson) -> Analyzed<Bson> {
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

    fn mark_operator(&mut self, field: &Field, operator: &str, value: &Bson) -> Analyzed<Bson> {
        match (operator, value) {
            ("$exists", value) => Ok(value.clone()),
            ("$not", operand) => self.mark_operand(field, operand),
            ("$eq" | "$ne", Bson::Null) => reject("Illegal equality to null predicate for encrypted field"),
            ("$eq" | "$ne", value) => self.mark_queried(field, value),
            ("$in" | "$nin", Bson::Array(values)) => {
                if values.contains(&Bson::Null) {
                    return reject("Illegal equality to null inside $in against an encrypted field");
                }
                let marked: Analyzed<Vec<Bson>> = values
                    .iter()
                    .map(|value| self.mark_queried(field, value))
                    .collect();
                marked.map(Bson::Array)
            }
            _ => reject(format!("{INVALID}: {operator}")),
        }
    }

    fn mark_queried(&mut self, field: &Field, value: &Bson) -> Analyzed<Bson> {
        if field.is_random {
            return reject("Cannot query on fields encrypted with the randomized encryption algorithm");
        }
        self.mark(field, value, None)
    }
}

/// The filter with `$eq` in place of values.
pub(super) fn with_operators(filter: &Document) -> Document {
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
