//! Filters, updates and pipelines as text without values: `{total: {$gt: ?}, $or: [{a: ?}, {b: ?}]}`.

use crate::bson::{Bson, Document};
use crate::update::Compiled;

/// The shape of a filter.
pub(super) fn of_filter(filter: &Document) -> String {
    let mut text = String::new();
    conditions(&mut text, filter);
    text
}

/// The shape of a pipeline: its stages, that of `$match` with its conditions.
pub(super) fn of_stages(stages: &[Document]) -> String {
    let mut text = String::new();
    list(&mut text, '[', ']', stages, |text, stage| {
        let operator = stage.keys().next().map_or("", String::as_str);
        text.push_str(operator);
        if let ("$match", Ok(filter)) = (operator, stage.get_document("$match")) {
            text.push(' ');
            conditions(text, filter);
        }
    });
    text
}

/// The shape of an update: its operators and the paths that they change.
pub(super) fn of_update(update: &Compiled) -> String {
    match update {
        Compiled::Pipeline(stages) => of_stages(stages),
        Compiled::Operators { update, .. } => {
            let mut text = String::new();
            list(&mut text, '{', '}', update, |text, (operator, fields)| {
                text.push_str(operator);
                text.push_str(": ");
                match fields {
                    Bson::Document(fields) => list(text, '{', '}', fields.keys(), |text, path| {
                        text.push_str(path);
                        text.push_str(": ?");
                    }),
                    _ => text.push('?'),
                }
            });
            text
        }
    }
}

fn list<T>(
    text: &mut String,
    begin: char,
    end: char,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    text.push(begin);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        write(text, item);
    }
    text.push(end);
}

/// Conditions on paths, and logical operators.
fn conditions(text: &mut String, filter: &Document) {
    list(text, '{', '}', filter, |text, (key, value)| {
        text.push_str(key);
        text.push_str(": ");
        match (key.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(all)) => list(text, '[', ']', all, |text, one| match one {
                Bson::Document(one) => conditions(text, one),
                _ => text.push('?'),
            }),
            (key, Bson::Document(operators)) if !key.starts_with('$') => comparison(text, operators),
            _ => text.push('?'),
        }
    });
}

/// The operators on one path. A document without operators is a value.
fn comparison(text: &mut String, operators: &Document) {
    if !operators.keys().next().is_some_and(|key| key.starts_with('$')) {
        text.push('?');
        return;
    }
    list(text, '{', '}', operators, |text, (operator, value)| {
        text.push_str(operator);
        text.push_str(": ");
        match (operator.as_str(), value) {
            ("$not", Bson::Document(operators)) => comparison(text, operators),
            ("$elemMatch", Bson::Document(element)) if is_operators(element) => comparison(text, element),
            ("$elemMatch", Bson::Document(element)) => conditions(text, element),
            _ => text.push('?'),
        }
    });
}

/// Whether the conditions of an `$elemMatch` concern the element itself.
fn is_operators(element: &Document) -> bool {
    let first = element.keys().next();
    first.is_some_and(|key| key.starts_with('$') && !matches!(key.as_str(), "$and" | "$or" | "$nor"))
}
