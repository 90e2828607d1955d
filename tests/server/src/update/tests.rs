//! Update semantics, operator by operator.
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are passed"
)]

use super::*;
use bson::doc;

fn target(env: &Env) -> Target<'_> {
    Target {
        position: None,
        env,
        insert: false,
        timestamp: Timestamp {
            time: 7,
            increment: 1,
        },
    }
}

fn run(update: Document, document: Document) -> Result<Document> {
    let env = Env::default();
    Update::parse(&Bson::Document(update), None, &env)?.apply(&document, target(&env))
}

fn updated(update: Document, document: Document) -> Document {
    run(update, document).unwrap()
}

fn code_of(update: Document, document: Document) -> i32 {
    run(update, document).unwrap_err().code
}

fn filtered(update: Document, filters: Vec<Bson>, document: Document) -> Result<Document> {
    let env = Env::default();
    Update::parse(&Bson::Document(update), Some(&filters), &env)?.apply(&document, target(&env))
}

#[test]
fn set_and_unset() {
    assert_eq!(
        updated(doc! {"$set": {"a.b": 1, "c": 2}}, doc! {"_id": 1}),
        doc! {"_id": 1, "a": {"b": 1}, "c": 2}
    );
    assert_eq!(
        updated(doc! {"$set": {"a.1": 9}}, doc! {"a": [1, 2]}),
        doc! {"a": [1, 9]}
    );
    assert_eq!(
        updated(doc! {"$set": {"a.3": 9}}, doc! {"a": [1]}),
        doc! {"a": [1, null, null, 9]}
    );
    assert_eq!(
        updated(doc! {"$unset": {"a.b": "", "x": 1}}, doc! {"a": {"b": 1, "c": 2}}),
        doc! {"a": {"c": 2}}
    );
    assert_eq!(
        updated(doc! {"$unset": {"a.0": ""}}, doc! {"a": [1, 2]}),
        doc! {"a": [null, 2]}
    );
}

#[test]
fn new_fields_are_added_in_name_order() {
    let document = updated(
        doc! {"$set": {"b": 1, "a": 1}, "$inc": {"aa": 1}},
        doc! {"_id": 1},
    );
    assert_eq!(document.keys().collect::<Vec<_>>(), ["_id", "a", "aa", "b"]);
}

#[test]
fn paths_through_scalars_are_errors() {
    assert_eq!(code_of(doc! {"$set": {"a.b": 1}}, doc! {"a": 5}), 28);
    assert_eq!(code_of(doc! {"$set": {"a.b": 1}}, doc! {"a": [1]}), 28);
    assert_eq!(code_of(doc! {"$set": {"a.b": 1}}, doc! {"a": null}), 28);
    assert_eq!(updated(doc! {"$unset": {"a.b": 1}}, doc! {"a": 5}), doc! {"a": 5});
}

#[test]
fn inc_and_mul_widen() {
    assert_eq!(
        updated(doc! {"$inc": {"a": 1, "b": 2}}, doc! {"a": i32::MAX}),
        doc! {"a": 2_147_483_648_i64, "b": 2}
    );
    assert_eq!(
        updated(doc! {"$mul": {"a": 2.5, "b": 3_i64}}, doc! {"a": 2}),
        doc! {"a": 5.0, "b": 0_i64}
    );
    assert_eq!(code_of(doc! {"$inc": {"a": 1}}, doc! {"_id": 1, "a": "x"}), 14);
    assert_eq!(code_of(doc! {"$inc": {"a": "x"}}, doc! {}), 14);
    assert_eq!(code_of(doc! {"$inc": {"a": 1}}, doc! {"a": i64::MAX}), 2);
}

#[test]
fn inc_of_decimals_is_exact() {
    let tenth: bson::Decimal128 = "0.1".parse().unwrap();
    let fifth: bson::Decimal128 = "0.2".parse().unwrap();
    let document = updated(doc! {"$inc": {"a": fifth}}, doc! {"a": tenth});
    assert_eq!(document.get_decimal128("a").unwrap().to_string(), "0.3");
}

#[test]
fn min_and_max() {
    assert_eq!(
        updated(doc! {"$min": {"a": 3}, "$max": {"b": 3}}, doc! {"a": 5, "b": 5}),
        doc! {"a": 3, "b": 5}
    );
    assert_eq!(
        updated(doc! {"$max": {"a": 3, "c": 1}}, doc! {"a": "x"}),
        doc! {"a": "x", "c": 1}
    );
}

#[test]
fn rename() {
    assert_eq!(
        updated(doc! {"$rename": {"a": "b.c"}}, doc! {"a": 1, "x": 2}),
        doc! {"x": 2, "b": {"c": 1}}
    );
    assert_eq!(
        updated(doc! {"$rename": {"a": "b"}}, doc! {"b": 1}),
        doc! {"b": 1}
    );
    assert_eq!(code_of(doc! {"$rename": {"a": "a"}}, doc! {"a": 1}), 2);
    assert_eq!(code_of(doc! {"$rename": {"a.0": "b"}}, doc! {"a": [1]}), 2);
    assert_eq!(code_of(doc! {"$rename": {"a": 1}}, doc! {"a": 1}), 2);
}

#[test]
fn push_with_clauses() {
    let pushed = |clauses: Document| updated(doc! {"$push": {"a": clauses}}, doc! {"a": [3, 1]});
    assert_eq!(updated(doc! {"$push": {"a": 2}}, doc! {}), doc! {"a": [2]});
    assert_eq!(
        updated(doc! {"$push": {"a": [2]}}, doc! {"a": [1]}),
        doc! {"a": [1, [2]]}
    );
    assert_eq!(pushed(doc! {"$each": [2, 5]}), doc! {"a": [3, 1, 2, 5]});
    assert_eq!(pushed(doc! {"$each": [2], "$position": 0}), doc! {"a": [2, 3, 1]});
    assert_eq!(
        pushed(doc! {"$each": [2], "$position": -1}),
        doc! {"a": [3, 2, 1]}
    );
    assert_eq!(
        pushed(doc! {"$each": [2], "$sort": 1, "$slice": 2}),
        doc! {"a": [1, 2]}
    );
    assert_eq!(
        pushed(doc! {"$each": [2], "$sort": -1, "$slice": -2}),
        doc! {"a": [2, 1]}
    );
    let by_field = doc! {"$push": {"a": {"$each": [{"s": 1}], "$sort": {"s": 1}}}};
    assert_eq!(
        updated(by_field, doc! {"a": [{"s": 2}, {"s": 0}]}),
        doc! {"a": [{"s": 0}, {"s": 1}, {"s": 2}]}
    );
    assert_eq!(code_of(doc! {"$push": {"a": 1}}, doc! {"a": 1}), 2);
    assert_eq!(
        code_of(doc! {"$push": {"a": {"$each": [], "$foo": 1}}}, doc! {}),
        2
    );
}

#[test]
fn add_to_set() {
    assert_eq!(
        updated(doc! {"$addToSet": {"a": {"$each": [1.0, 2, 2]}}}, doc! {"a": [1]}),
        doc! {"a": [1, 2]}
    );
    assert_eq!(
        updated(doc! {"$addToSet": {"a": {"x": 1}}}, doc! {"a": [{"x": 1}]}),
        doc! {"a": [{"x": 1}]}
    );
    assert_eq!(
        updated(doc! {"$addToSet": {"a": [1, 2]}}, doc! {}),
        doc! {"a": [[1, 2]]}
    );
}

#[test]
fn pull_by_value_condition_and_fields() {
    assert_eq!(
        updated(doc! {"$pull": {"a": 1}}, doc! {"a": [1, 2, 1.0]}),
        doc! {"a": [2]}
    );
    assert_eq!(
        updated(doc! {"$pull": {"a": {"$gte": 2}}}, doc! {"a": [1, 2, 3]}),
        doc! {"a": [1]}
    );
    let lines = doc! {"a": [{"x": 1, "y": 1}, {"x": 2}, 5]};
    assert_eq!(
        updated(doc! {"$pull": {"a": {"x": 1}}}, lines.clone()),
        doc! {"a": [{"x": 2}, 5]}
    );
    assert_eq!(
        updated(doc! {"$pull": {"a": {"x": {"$gt": 1}}}}, lines),
        doc! {"a": [{"x": 1, "y": 1}, 5]}
    );
    assert_eq!(
        updated(doc! {"$pull": {"a": {"$in": ["x"]}}}, doc! {"a": ["x", "y"]}),
        doc! {"a": ["y"]}
    );
    assert_eq!(code_of(doc! {"$pull": {"a": 1}}, doc! {"a": 1}), 2);
    assert_eq!(
        updated(doc! {"$pullAll": {"a": [1, 3]}}, doc! {"a": [1, 2, 3]}),
        doc! {"a": [2]}
    );
}

#[test]
fn pop() {
    assert_eq!(
        updated(doc! {"$pop": {"a": 1, "b": -1}}, doc! {"a": [1, 2], "b": [1, 2]}),
        doc! {"a": [1], "b": [2]}
    );
    assert_eq!(code_of(doc! {"$pop": {"a": 2}}, doc! {"a": [1]}), 9);
    assert_eq!(code_of(doc! {"$pop": {"a": 1}}, doc! {"a": 1}), 14);
}

#[test]
fn bit_and_current_date() {
    assert_eq!(
        updated(
            doc! {"$bit": {"a": {"and": 6}, "b": {"or": 1_i64}}},
            doc! {"a": 3, "b": 2}
        ),
        doc! {"a": 2, "b": 3_i64}
    );
    assert_eq!(code_of(doc! {"$bit": {"a": {"and": 1.5}}}, doc! {"a": 3}), 2);
    let document = updated(
        doc! {"$currentDate": {"d": true, "t": {"$type": "timestamp"}}},
        doc! {},
    );
    assert!(document.get_datetime("d").is_ok());
    assert_eq!(document.get_timestamp("t").unwrap().time, 7);
    assert_eq!(code_of(doc! {"$currentDate": {"d": 1}}, doc! {}), 2);
}

#[test]
fn positional_operators() {
    let env = Env::default();
    let parse = |update: Document| Update::parse(&Bson::Document(update), None, &env).unwrap();
    let update = parse(doc! {"$set": {"a.$.x": 9}});
    let at = Target {
        position: Some(1),
        ..target(&env)
    };
    assert_eq!(
        update.apply(&doc! {"a": [{"x": 1}, {"x": 2}]}, at).unwrap(),
        doc! {"a": [{"x": 1}, {"x": 9}]}
    );
    assert_eq!(
        update
            .apply(&doc! {"a": [{"x": 1}]}, target(&env))
            .unwrap_err()
            .code,
        2
    );
    assert_eq!(
        updated(doc! {"$inc": {"a.$[].x": 1}}, doc! {"a": [{"x": 1}, {"x": 2}]}),
        doc! {"a": [{"x": 2}, {"x": 3}]}
    );
    assert_eq!(code_of(doc! {"$inc": {"a.$[]": 1}}, doc! {"a": 1}), 2);
    assert_eq!(code_of(doc! {"$inc": {"a.$[]": 1}}, doc! {}), 2);
}

#[test]
fn array_filters() {
    let document = doc! {"a": [{"x": 1, "y": [1, 5]}, {"x": 2, "y": [7]}]};
    let update = doc! {"$set": {"a.$[e].y.$[n]": 0}};
    let filters = vec![doc! {"e.x": 1}.into(), doc! {"n": {"$gt": 3}}.into()];
    assert_eq!(
        filtered(update, filters, document.clone()).unwrap(),
        doc! {"a": [{"x": 1, "y": [1, 0]}, {"x": 2, "y": [7]}]}
    );
    let code =
        |update: Document, filters: Vec<Bson>| filtered(update, filters, document.clone()).unwrap_err().code;
    assert_eq!(code(doc! {"$set": {"a.$[e]": 0}}, vec![]), 2);
    assert_eq!(code(doc! {"$set": {"b": 0}}, vec![doc! {"e.x": 1}.into()]), 9);
    assert_eq!(
        code(
            doc! {"$set": {"a.$[e]": 0}},
            vec![doc! {"e": 1}.into(), doc! {"e": 2}.into()]
        ),
        9
    );
    for filter in [
        doc! {"e.x": 1, "f": 1},
        doc! {"$or": [{"e.x": 1}, {"$and": [{"f": 1}]}]},
    ] {
        let refused = filtered(
            doc! {"$set": {"a.$[e].z": 0}},
            vec![filter.into()],
            document.clone(),
        );
        let error = refused.unwrap_err();
        assert_eq!(error.code, 9);
        assert!(error.message.contains("found 'e' and 'f'"), "{}", error.message);
    }
    let filter = doc! {"$or": [{"e.x": 1}, {"e.y": 7}]};
    assert_eq!(
        filtered(
            doc! {"$unset": {"a.$[e].y": 0}},
            vec![filter.into()],
            document.clone()
        )
        .unwrap(),
        doc! {"a": [{"x": 1}, {"x": 2}]}
    );
}

#[test]
fn conflicting_paths() {
    assert_eq!(code_of(doc! {"$set": {"a": 1}, "$inc": {"a": 1}}, doc! {}), 40);
    assert_eq!(code_of(doc! {"$set": {"a": 1, "a.b": 1}}, doc! {}), 40);
    assert_eq!(
        code_of(doc! {"$rename": {"a": "b"}, "$set": {"b": 1}}, doc! {}),
        40
    );
    assert_eq!(
        updated(doc! {"$set": {"a.b": 1, "a.c": 1}}, doc! {}),
        doc! {"a": {"b": 1, "c": 1}}
    );
}

#[test]
fn malformed_updates() {
    assert_eq!(code_of(doc! {"$foo": {"a": 1}}, doc! {}), 9);
    assert_eq!(code_of(doc! {"$set": 1}, doc! {}), 9);
    assert_eq!(code_of(doc! {"$set": {"": 1}}, doc! {}), 56);
    assert_eq!(code_of(doc! {"$set": {"a..b": 1}}, doc! {}), 56);
    assert_eq!(code_of(doc! {"$set": {"$a": 1}}, doc! {}), 52);
    assert_eq!(code_of(doc! {"a": 1, "$set": {"b": 1}}, doc! {}), 52);
}

#[test]
fn the_id_is_immutable() {
    assert_eq!(code_of(doc! {"$set": {"_id": 2}}, doc! {"_id": 1}), 66);
    assert_eq!(
        updated(doc! {"$set": {"_id": 1.0}}, doc! {"_id": 1}),
        doc! {"_id": 1}
    );
    assert_eq!(code_of(doc! {"_id": 2}, doc! {"_id": 1}), 66);
    assert_eq!(code_of(doc! {"$unset": {"_id": 1}}, doc! {"_id": 1}), 66);
    assert_eq!(
        updated(doc! {"a": 1}, doc! {"_id": 1, "b": 1}),
        doc! {"_id": 1, "a": 1}
    );
}

#[test]
fn upserts_copy_equalities_from_the_filter() {
    let env = Env::default();
    let insert = |filter: Document, update: Document| {
        let filter = Filter::parse(&filter, &env).unwrap();
        Update::parse(&Bson::Document(update), None, &env)
            .unwrap()
            .upsert(&filter, target(&env))
            .unwrap()
    };
    assert_eq!(
        insert(
            doc! {"_id": 5, "a.b": 1, "c": {"$gt": 1}},
            doc! {"$set": {"d": 1}, "$setOnInsert": {"e": 2}}
        ),
        doc! {"_id": 5, "a": {"b": 1}, "d": 1, "e": 2}
    );
    assert_eq!(
        insert(doc! {"_id": 5, "x": 1}, doc! {"y": 1}),
        doc! {"_id": 5, "y": 1}
    );
    let inserted = insert(doc! {"a": {"$eq": 3}}, doc! {"$inc": {"n": 1}});
    assert!(inserted.get_object_id("_id").is_ok());
    assert_eq!(inserted.get_i32("a").unwrap(), 3);
    assert_eq!(inserted.keys().next().unwrap(), "_id");
}

#[test]
fn upserts_reject_two_values_for_one_path() {
    let env = Env::default();
    let filter = Filter::parse(&doc! {"a": {"$all": [1, 2]}}, &env).unwrap();
    let update = Update::parse(&Bson::Document(doc! {"$set": {"b": 1}}), None, &env).unwrap();
    assert_eq!(update.upsert(&filter, target(&env)).unwrap_err().code, 54);
}

#[test]
fn rename_errors() {
    let message = |update: Document, document: Document| run(update, document).unwrap_err().message;
    assert_eq!(
        message(doc! {"$rename": {"a": "a"}}, doc! {"a": 1}),
        "The source and target field for $rename must differ: a: \"a\""
    );
    assert_eq!(
        message(doc! {"$rename": {"a.$": "b"}}, doc! {"a": 1}),
        "The source field for $rename may not be dynamic: a.$"
    );
    assert_eq!(code_of(doc! {"$rename": {"f.g": "a"}}, doc! {"f": 1}), 28);
    assert_eq!(code_of(doc! {"$rename": {"f.g": "a"}}, doc! {"f": [1]}), 28);
    assert_eq!(code_of(doc! {"$rename": {"f.0": "a"}}, doc! {"f": [1]}), 2);
    assert_eq!(
        code_of(doc! {"$rename": {"a": "f.0"}}, doc! {"a": 1, "f": [1]}),
        2
    );
    // The source does not exist, so the target is not examined.
    assert_eq!(
        updated(doc! {"$rename": {"x": "f.0"}}, doc! {"f": [1]}),
        doc! {"f": [1]}
    );
    assert_eq!(
        updated(doc! {"$rename": {"f.5": "a"}}, doc! {"f": [1]}),
        doc! {"f": [1]}
    );
}

#[test]
fn each_requires_an_array() {
    assert_eq!(code_of(doc! {"$push": {"a": {"$each": 1}}}, doc! {}), 2);
    assert_eq!(code_of(doc! {"$addToSet": {"a": {"$each": 1}}}, doc! {}), 14);
}

#[test]
fn upserts_reject_two_values_for_the_id() {
    let env = Env::default();
    let filter = Filter::parse(&doc! {"$and": [{"_id": 1}, {"_id": 1}]}, &env).unwrap();
    for update in [doc! {"$set": {"b": 1}}, doc! {"b": 1}] {
        let update = Update::parse(&Bson::Document(update), None, &env).unwrap();
        assert_eq!(update.upsert(&filter, target(&env)).unwrap_err().code, 54);
    }
}
