//! Filters, updates and pipelines as text without values: `{total: {$gt: ?}, $or: [{a: ?}, {b: ?}]}`.

use crate::{
    ast::{
        filter::{Keys, Node},
        part::RawPart,
        sink::Sink,
        update::Changes,
    },
    base::{
        bson::{Bson, Document},
        error::BulkOperation,
    },
};

/// The number of runs of writes that a shape names.
const RUNS: usize = 20;

/// The shape of a filter.
pub(super) fn of_filter(filter: &Node) -> String {
    let mut shape = Shape::new();
    filter.encode(Keys::Own, &mut shape);
    shape.into_text()
}

/// The shape of a pipeline: its stages, that of `$match` with its conditions.
pub(super) fn of_stages<'s>(stages: impl IntoIterator<Item = &'s Document>) -> String {
    let mut text = String::new();
    list(&mut text, '[', ']', stages, |text, stage| {
        let operator = stage.keys().next().map_or("", String::as_str);
        text.push_str(operator);
        if let ("$match", Ok(filter)) = (operator, stage.get_document("$match")) {
            text.push(' ');
            text.push_str(&of_filter(&Node::Raw(RawPart::checked(filter.clone()))));
        }
    });
    text
}

/// The shape of an update: its operators and the paths that they change.
pub(super) fn of_update(changes: &Changes) -> String {
    match changes {
        Changes::Stages(stages) => of_stages(stages.iter().map(|stage| &stage.document)),
        Changes::Operators(operators) => {
            let mut shape = Shape::new();
            operators.encode(&mut shape);
            shape.into_text()
        }
    }
}

/// The shape of a bulk write: the names of its writes, each with the number of equal ones that follow one another:
/// `[insert × 3, update_many]`, and with those of their models `[insert Order, delete_one Customer × 2]`.
pub(super) fn of_writes(writes: &[BulkOperation], has_models: bool) -> String {
    let is_equal = |a: &BulkOperation, b: &BulkOperation| (a.operation, a.model) == (b.operation, b.model);
    let mut runs: Vec<&[BulkOperation]> = writes.chunk_by(is_equal).collect();
    let further = runs.len().saturating_sub(RUNS);
    runs.truncate(RUNS);
    let mut text = String::new();
    list(&mut text, '[', ']', runs, |text, run| {
        text.push_str(run[0].operation);
        if has_models {
            text.push(' ');
            text.push_str(run[0].model);
        }
        if run.len() > 1 {
            text.push_str(" × ");
            text.push_str(&run.len().to_string());
        }
    });
    if further > 0 {
        text.push_str(" and ");
        text.push_str(&further.to_string());
        text.push_str(" more");
    }
    text
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

/// Writes the keys of documents, and `?` for each value.
struct Shape {
    text: String,
    /// The character that ends the innermost document or array.
    end: char,
    is_first: bool,
}

impl Shape {
    fn new() -> Self {
        Shape {
            text: String::from("{"),
            end: '}',
            is_first: true,
        }
    }

    fn into_text(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push_str(", ");
        }
        if self.end == '}' {
            self.text.push_str(key);
            self.text.push_str(": ");
        }
    }

    fn unknown(&mut self, key: &str) {
        self.key(key);
        self.text.push('?');
    }

    fn begin(&mut self, key: &str, begin: char, end: char) -> char {
        self.key(key);
        self.text.push(begin);
        self.is_first = true;
        std::mem::replace(&mut self.end, end)
    }
}

impl Sink for Shape {
    /// The end of the document or array around it.
    type Open = char;

    fn begin_document(&mut self, key: &str) -> char {
        self.begin(key, '{', '}')
    }

    fn begin_array(&mut self, key: &str) -> char {
        self.begin(key, '[', ']')
    }

    fn end(&mut self, outer: char) {
        self.text.push(self.end);
        self.end = outer;
        self.is_first = false;
    }

    fn value(&mut self, key: &str, _value: &Bson) {
        self.unknown(key);
    }

    fn document(&mut self, key: &str, _value: &Document) {
        self.unknown(key);
    }

    fn values(&mut self, key: &str, _values: &[Bson]) {
        self.unknown(key);
    }

    fn str(&mut self, key: &str, _value: &str) {
        self.unknown(key);
    }

    fn i64(&mut self, key: &str, _value: i64) {
        self.unknown(key);
    }

    fn bool(&mut self, key: &str, _value: bool) {
        self.unknown(key);
    }
}
