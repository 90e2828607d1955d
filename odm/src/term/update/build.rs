//! Updates in the form in which they are sent, and raw update documents.

use crate::{
    ast::update::{Change, Changes, Operator},
    base::{
        bson::{Bson, Document},
        error::{Error, Result},
    },
};

/// An update in the form in which it is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// A document of operators, with the array filters of its `$[identifier]` segments.
    Operators {
        /// `{$set: {…}, …}`.
        update: Document,
        /// One filter for each identifier, in the order of `f0`, `f1` ….
        array_filters: Vec<Document>,
    },
    /// An aggregation pipeline.
    Pipeline(Vec<Document>),
}

impl From<Changes> for Compiled {
    fn from(changes: Changes) -> Self {
        match changes {
            Changes::Operators(operators) => Compiled::Operators {
                update: operators.to_document(),
                array_filters: operators.array_filters(),
            },
            Changes::Stages(stages) => {
                Compiled::Pipeline(stages.into_iter().map(|stage| stage.document).collect())
            }
        }
    }
}

/// The changes of a raw update document.
pub(super) fn parse(update: Document) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (operator, fields) in update {
        if !operator.starts_with('$') {
            return Err(Error::update(
                operator,
                "a raw update must consist of update operators, such as `$set`: `{$set: {..}}`; to replace a whole document use \
                 `replace_one`",
            ));
        }
        let Bson::Document(fields) = fields else {
            return Err(Error::update(
                "",
                format!("the operand of `{operator}` in a raw update is not a document of fields"),
            ));
        };
        let operator = Operator::named(&operator);
        changes.extend(
            fields
                .into_iter()
                .map(|(path, operand)| Change::new(operator.clone(), path, operand)),
        );
    }
    Ok(changes)
}
