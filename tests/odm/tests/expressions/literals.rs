//! Values that look like operators, in the operators that also accept conditions or modifiers.

use marula::bson::{Bson, Document as Doc, Regex, bson, doc};
use marula::prelude::*;
use marula::update::Compiled;
use marula::{Document, Error, Fields, Filter, Pattern, Update};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "literals")]
struct Literal {
    _id: i64,
    note: String,
    any: Bson,
    list: Vec<Bson>,
    rows: Vec<Vec<i32>>,
    numbers: Vec<Option<i32>>,
}

fn regex() -> Bson {
    Bson::RegularExpression(Regex {
        pattern: "^a".try_into().expect("no NUL"),
        options: "i".try_into().expect("no NUL"),
    })
}

fn updated(update: Update<Literal>) -> Doc {
    match update.compile().expect("a valid update") {
        Compiled::Operators { update, .. } => update,
        Compiled::Pipeline(stages) => panic!("a pipeline: {stages:?}"),
    }
}

fn filtered(filter: impl FnOnce(Fields<Literal>) -> Filter<Literal>) -> Doc {
    filter(Literal::fields()).into_document().expect("a valid filter")
}

#[test]
fn appended_documents_are_not_modifiers() {
    let list = || Literal::fields().list();
    let modifiers = bson!({ "$each": [], "$slice": 0 });
    assert_eq!(
        updated(list().push(modifiers.clone())),
        doc! { "$push": { "list": { "$each": [modifiers.clone()] } } }
    );
    assert_eq!(
        updated(list().add_to_set(modifiers.clone())),
        doc! { "$addToSet": { "list": { "$each": [modifiers] } } }
    );
    let second = bson!({ "a": 1, "$each": [2] });
    assert_eq!(
        updated(list().push(second.clone())),
        doc! { "$push": { "list": { "$each": [second] } } }
    );
    let plain = bson!({ "a": { "$each": [2] } });
    assert_eq!(
        updated(list().push(plain.clone())),
        doc! { "$push": { "list": plain } }
    );
}

#[test]
fn elements_are_compared_and_not_matched() {
    let each = |value: Bson| bson!({ "$elemMatch": { "$eq": value } });
    for value in [
        regex(),
        bson!({ "$elemMatch": { "a": 1 } }),
        bson!([1]),
        Bson::Null,
    ] {
        assert_eq!(
            filtered(|l| l.list().all([bson!(1), value.clone()])),
            doc! { "list": { "$all": [each(bson!(1)), each(value)] } }
        );
    }
    assert_eq!(
        filtered(|l| l.list().all([1, 2])),
        doc! { "list": { "$all": [1, 2] } }
    );
    assert_eq!(
        filtered(|l| l.list().contains(regex())),
        doc! { "list": { "$eq": regex() } }
    );
    assert_eq!(
        filtered(|l| l.rows().contains(vec![1])),
        doc! { "rows": { "$elemMatch": { "$eq": [1] } } }
    );
    assert_eq!(
        filtered(|l| l.numbers().contains(None::<i32>)),
        doc! { "numbers": { "$elemMatch": { "$eq": null } } }
    );
}

#[test]
fn lists_refuse_patterns_and_operators() {
    let refused = |filter: Filter<Literal>| match filter.into_document() {
        Err(Error::InvalidFilter { path, reason }) => {
            assert_eq!(path, "any");
            reason
        }
        other => panic!("{other:?}"),
    };
    let any = || Literal::fields().any();
    for filter in [any().is_in([bson!(1), regex()]), any().not_in([regex()])] {
        assert!(refused(filter).contains("as a pattern"));
    }
    for document in [doc! { "$gt": 1 }, doc! { "$ref": "a" }, doc! { "$id": 1, "a": 1 }] {
        let filter = any().is_in([Bson::Document(document)]);
        assert!(refused(filter).contains("first name"));
    }
    // A DBRef, and a document whose first name is not that of an operator, are values.
    for document in [doc! { "$ref": "a", "$id": 1 }, doc! { "a": 1, "$gt": 1 }, doc! {}] {
        assert_eq!(
            filtered(|l| l.any().is_in([Bson::Document(document.clone())])),
            doc! { "any": { "$in": [document] } }
        );
    }
}

#[test]
fn white_space_is_literal_with_the_option_x() {
    let pattern = (Pattern::escape("a b\t#"), "x");
    assert_eq!(
        filtered(|l| l.note().regex(pattern)),
        doc! { "note": { "$regex": "a\\ b\\\t\\#", "$options": "x" } }
    );
}
