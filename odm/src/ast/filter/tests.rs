//! Trees of random conditions, against an evaluation of what they mean.

use std::borrow::Cow;

use super::node::Truth;
use super::*;
use crate::{
    ast::part::RawPart,
    base::bson::{Bson, Document, IntoDocument, doc},
};

/// Conditions in the form in which they are combined.
#[derive(Clone, Debug)]
enum Combined {
    Compare(&'static str, &'static str, i32),
    And(Box<Combined>, Box<Combined>),
    Or(Box<Combined>, Box<Combined>),
    Not(Box<Combined>),
    Default,
}

const PATHS: [&str; 3] = ["a", "b", "c"];
const OPERATORS: [&str; 8] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"];

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn combined(&mut self, depth: usize) -> Combined {
        let part = |random: &mut Self| Box::new(random.combined(depth - 1));
        match if depth == 0 { 9 } else { self.below(12) } {
            0..=3 => Combined::And(part(self), part(self)),
            4..=6 => Combined::Or(part(self), part(self)),
            7 => Combined::Not(part(self)),
            8 => Combined::Default,
            _ => {
                let value = i32::try_from(self.below(4)).unwrap();
                Combined::Compare(PATHS[self.below(3)], OPERATORS[self.below(8)], value)
            }
        }
    }
}

fn op(operator: &str, value: i32) -> Op {
    let value = Bson::Int32(value);
    match operator {
        "$eq" => Op::Eq(value),
        "$ne" => Op::Ne(value),
        "$gt" => Op::Gt(value),
        "$gte" => Op::Gte(value),
        "$lt" => Op::Lt(value),
        "$lte" => Op::Lte(value),
        "$in" => Op::In(vec![value]),
        _ => Op::Nin(if value == Bson::Int32(0) {
            Vec::new()
        } else {
            vec![value]
        }),
    }
}

impl Combined {
    fn node(&self) -> Node {
        match self {
            Combined::Compare(path, operator, value) => Node::leaf(*path, op(operator, *value)),
            Combined::And(a, b) => a.node().and(b.node()),
            Combined::Or(a, b) => a.node().or(b.node()),
            Combined::Not(a) => a.node().not(),
            Combined::Default => Node::Default,
        }
    }

    /// Whether a document matches; `None` if there is no condition.
    fn matches(&self, document: &Document) -> Option<bool> {
        match self {
            Combined::Compare(path, operator, value) => {
                let stored = document.get_i32(path).ok();
                Some(match *operator {
                    "$nin" if *value == 0 => true,
                    "$eq" | "$in" => stored == Some(*value),
                    "$ne" | "$nin" => stored != Some(*value),
                    "$gt" => stored.is_some_and(|stored| stored > *value),
                    "$gte" => stored.is_some_and(|stored| stored >= *value),
                    "$lt" => stored.is_some_and(|stored| stored < *value),
                    _ => stored.is_some_and(|stored| stored <= *value),
                })
            }
            Combined::And(a, b) => match (a.matches(document), b.matches(document)) {
                (Some(a), Some(b)) => Some(a && b),
                (a, b) => a.or(b),
            },
            Combined::Or(a, b) => match (a.matches(document), b.matches(document)) {
                (Some(a), Some(b)) => Some(a || b),
                (a, b) => a.or(b),
            },
            Combined::Not(a) => Some(!a.matches(document).unwrap_or(true)),
            Combined::Default => None,
        }
    }
}

/// Whether a document matches a filter document, as the server evaluates it.
fn matches(filter: &Document, document: &Document) -> bool {
    let each = |parts: &Bson| -> Vec<bool> {
        let parts = parts.as_array().unwrap().iter();
        parts
            .map(|part| matches(part.as_document().unwrap(), document))
            .collect()
    };
    filter.iter().all(|(key, value)| match key.as_str() {
        "$and" => each(value).into_iter().all(|part| part),
        "$or" => each(value).into_iter().any(|part| part),
        "$nor" => !each(value).into_iter().any(|part| part),
        path => value.as_document().unwrap().iter().all(|(operator, operand)| {
            let values = operand
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![operand.clone()]);
            match (operator.as_str(), values.first().and_then(Bson::as_i32)) {
                ("$nin", None) => true,
                ("$in", None) => false,
                (operator, Some(value)) => Combined::Compare(
                    PATHS.iter().find(|p| **p == path).unwrap(),
                    operator_of(operator),
                    value,
                )
                .matches_stored(document),
                other => panic!("{other:?}"),
            }
        }),
    })
}

fn operator_of(name: &str) -> &'static str {
    OPERATORS.iter().find(|operator| **operator == name).unwrap()
}

impl Combined {
    /// The comparison with the value, also for the one that stands for an empty list.
    fn matches_stored(&self, document: &Document) -> bool {
        match self {
            Combined::Compare(path, "$nin", value) => document.get_i32(path).ok() != Some(*value),
            other => other.matches(document).unwrap(),
        }
    }
}

fn documents() -> Vec<Document> {
    let values = [None, Some(0), Some(2), Some(3)];
    let mut documents = Vec::new();
    for a in values {
        for b in values {
            for c in values {
                let fields = [("a", a), ("b", b), ("c", c)];
                let present = fields
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), Bson::Int32(value?))));
                documents.push(present.collect());
            }
        }
    }
    documents
}

#[test]
fn combinations_match_what_their_parts_match() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let documents = documents();
    for _ in 0..5_000 {
        let combined = random.combined(4);
        let node = combined.node();
        let sent = node.to_document();
        let mut matching = 0;
        for document in &documents {
            let expected = combined.matches(document).unwrap_or(true);
            matching += usize::from(expected);
            assert_eq!(
                matches(&sent, document),
                expected,
                "{combined:?} as {sent} for {document}"
            );
        }
        match node.truth() {
            Truth::Always => assert_eq!(matching, documents.len(), "{sent}"),
            Truth::Never => assert_eq!(matching, 0, "{sent}"),
            Truth::Depends => {}
        }
        for path in PATHS {
            if let Some(value) = node.equality(path) {
                let of_matching = documents.iter().filter(|document| matches(&sent, document));
                for document in of_matching {
                    assert_eq!(document.get(path), Some(value), "{sent}");
                }
            }
            assert_eq!(
                node.encrypted(&[path.to_owned()]).is_some(),
                sent.to_string().contains(&format!("\"{path}\"")),
                "{sent}"
            );
        }
        // A raw filter of the same text is the same filter.
        let raw = Node::Raw(RawPart::checked(sent.clone()));
        assert_eq!(raw.to_document(), sent);
        assert_eq!(raw.truth(), node.truth(), "{sent}");
    }
}

#[test]
fn bytes_and_documents_are_the_same() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..1_000 {
        let node = random.combined(5).node();
        let document = node.to_document();
        assert_eq!(node.to_bytes().unwrap(), document.into_raw_document().unwrap());
    }
}

#[test]
fn every_operator_has_the_same_bytes_as_its_document() {
    let ops = [
        Op::Is(Bson::Int32(1)),
        Op::Exists(true),
        Op::Type("null"),
        Op::Regex(Box::new(Regex {
            pattern: "x".into(),
            options: Some("i".into()),
        })),
        Op::Mod(10, 3),
        Op::All(vec![1.into()]),
        Op::AllElements(vec![Bson::Null, 2.into()]),
        Op::Size(2),
        Op::Bits(Bits::AnyClear, 6),
        Op::Geo(Geo::Within, doc! { "$geometry": {} }.into()),
        Op::Not(vec![Op::Gt(1.into()), Op::Lt(5.into())]),
        Op::EncryptedText(Part::Suffix, "da".to_owned()),
        Op::Raw(Box::new(("$futureOperator".to_owned(), 1.into()))),
        Op::ElemMatch(Box::new(Element::Fields(
            Node::leaf("x", Op::Eq(1.into())).or(Node::leaf("y", Op::In((0..12).map(Bson::Int32).collect()))),
        ))),
    ];
    for op in ops {
        let node = Node::leaf("a.b", op);
        let document = node.to_document();
        let sent = node.to_bytes().unwrap();
        assert_eq!(sent, (&document).into_raw_document().unwrap(), "{document}");
        let under = node.to_document_of(Keys::Under("f0"));
        assert_eq!(under.to_string(), document.to_string().replace("a.b", "f0.a.b"));
    }
}

#[test]
fn a_path_with_nul_is_an_error() {
    let node = Node::leaf("a\0b", Op::Gt(1.into()));
    assert!(node.to_bytes().is_err());
}

fn gt(path: &'static str, value: i32) -> Node {
    Node::leaf(path, Op::Gt(value.into()))
}

fn lt(path: &'static str, value: i32) -> Node {
    Node::leaf(path, Op::Lt(value.into()))
}

#[test]
fn conditions_are_one_document_if_their_keys_do_not_conflict() {
    let two = gt("a", 1).and(lt("a", 5)).and(gt("b", 1));
    assert_eq!(
        two.to_document(),
        doc! { "a": { "$gt": 1, "$lt": 5 }, "b": { "$gt": 1 } }
    );
    let conflicting = two.clone().and(gt("a", 2));
    assert_eq!(
        conflicting.to_document(),
        doc! { "$and": [two.to_document(), { "a": { "$gt": 2 } }] }
    );
    let three = conflicting.and(gt("c", 1)).to_document();
    assert_eq!(three.get_array("$and").unwrap().len(), 3);
    // The same condition again changes nothing.
    assert_eq!(two.clone().and(gt("a", 1)), two);
    assert_eq!(two.clone().and(two.clone()), two);
    let either = gt("a", 1).or(lt("b", 1));
    assert_eq!(
        gt("c", 1).and(either.clone()).to_document(),
        doc! { "c": { "$gt": 1 }, "$or": [{ "a": { "$gt": 1 } }, { "b": { "$lt": 1 } }] }
    );
    assert_eq!(
        either
            .clone()
            .and(lt("x", 1).or(lt("y", 1)))
            .to_document()
            .keys()
            .collect::<Vec<_>>(),
        ["$and"]
    );
    assert_eq!(either.clone().and(either.clone()), either);
}

#[test]
fn raw_filters_are_merged_by_whole_keys() {
    let raw = |document: Document| Node::Raw(RawPart::checked(document));
    assert_eq!(
        gt("a", 1).and(raw(doc! { "$where": "x", "b": 1 })).to_document(),
        doc! { "a": { "$gt": 1 }, "$where": "x", "b": 1 }
    );
    for (a, b) in [
        (gt("a", 1), raw(doc! { "a": { "$lt": 2 } })),
        (raw(doc! { "a": { "$lt": 2 } }), gt("a", 1)),
        (
            Node::Expr(doc! { "$gt": ["$a", "$b"] }.into()),
            Node::Expr(doc! { "$lt": ["$a", "$c"] }.into()),
        ),
        (
            Node::Expr(true.into()),
            Node::leaf("s", Op::EncryptedText(Part::Prefix, "x".to_owned())),
        ),
        (raw(doc! { "$or": [{ "a": 1 }] }), gt("b", 1).or(gt("c", 1))),
        (Node::id(1.into()), gt("_id", 1)),
    ] {
        let expected = doc! { "$and": [a.to_document(), b.to_document()] };
        assert_eq!(a.and(b).to_document(), expected);
    }
    let same = raw(doc! { "a": { "$lt": 2 } });
    assert_eq!(same.clone().and(same.clone()), same);
}

#[test]
fn an_equal_condition_of_another_mark_is_kept() {
    let plain = gt("a", 1);
    let marked = Node::Leaf(Leaf {
        path: Cow::Borrowed("a"),
        op: Op::Gt(1.into()),
        mark: Mark::Encrypted,
    });
    assert_eq!(plain.encrypted(&[]), None);
    assert_eq!(plain.and(marked).encrypted(&[]).as_deref(), Some("a"));
}

#[test]
fn documents_in_another_order_are_other_values() {
    let leaf = |value: Document| Node::leaf("a", Op::Eq(value.into()));
    let both = leaf(doc! { "x": 1, "y": 2 }).and(leaf(doc! { "y": 2, "x": 1 }));
    assert_eq!(both.to_document().get_array("$and").unwrap().len(), 2);
    let same = leaf(doc! { "x": 1, "y": 2 }).and(leaf(doc! { "x": 1, "y": 2 }));
    assert_eq!(same.to_document(), doc! { "a": { "$eq": { "x": 1, "y": 2 } } });
}

#[test]
fn a_condition_that_is_not_negated_selects_an_element() {
    let sku = || Node::leaf("lines.sku", Op::Eq(1.into()));
    let ne = Node::leaf("lines.sku", Op::Ne(1.into()));
    let raw = || Node::Raw(RawPart::checked(doc! { "lines.sku": 1 }));
    for node in [
        sku(),
        sku().or(gt("a", 1)),
        gt("a", 1).and(raw()),
        sku().not().and(sku()),
    ] {
        assert!(node.selects_element("lines"), "{node:?}");
    }
    for node in [
        gt("a", 1),
        gt("linesOfOthers", 1),
        sku().not(),
        ne,
        raw().not(),
        Node::Everything,
    ] {
        assert!(!node.selects_element("lines"), "{node:?}");
    }
    let nested = Node::leaf("orders.lines.sku", Op::Eq(1.into()));
    assert!(nested.selects_element("orders.$[].lines") && nested.selects_element("orders.0.lines"));
    assert!(!nested.selects_element("orders.$[].gifts"));
}

#[test]
fn filters_that_match_every_document_are_recognized() {
    for filter in [
        doc! {},
        doc! { "$and": [{}, {}] },
        doc! { "$or": [{ "a": 1 }, {}] },
        doc! { "$nor": [{ "$nor": [{}] }] },
        doc! { "$and": [{ "$or": [{}] }] },
        doc! { "$comment": "x" },
        doc! { "a": { "$nin": [] }, "b": { "$nin": [] } },
        doc! { "a": { "$not": { "$in": [] } } },
        doc! { "$nor": [{ "a": { "$in": [] }, "b": 1 }] },
        doc! { "$or": [{ "a": 1 }, { "a": { "$nin": [] } }] },
    ] {
        assert!(
            Node::Raw(RawPart::checked(filter.clone())).is_without_conditions(),
            "{filter}"
        );
    }
    for filter in [
        doc! { "a": 1 },
        doc! { "$and": [{}, { "a": 1 }] },
        doc! { "$or": [{ "a": 1 }] },
        doc! { "$nor": [{}] },
        doc! { "$nor": [{ "a": 1 }] },
        doc! { "$or": [{}], "a": 1 },
        doc! { "$comment": "x", "a": 1 },
        doc! { "a": { "$nin": [1] } },
        doc! { "a": { "$nin": [], "$ne": 1 } },
        doc! { "a": { "$in": [] } },
        doc! { "a": { "$not": { "$nin": [] } } },
        doc! { "a": {} },
        doc! { "a": { "$eq": { "$nin": [] } } },
    ] {
        assert!(
            !Node::Raw(RawPart::checked(filter.clone())).is_without_conditions(),
            "{filter}"
        );
    }
    assert!(!Node::Everything.is_without_conditions());
    assert!(Node::Default.is_without_conditions());
    assert!(Node::Everything.and(Node::Default).is_without_conditions());
    assert!(Node::Everything.or(gt("a", 1)).is_without_conditions());
    assert!(Node::Default.or(Node::Everything).is_without_conditions());
}

fn on_element(op: Op) -> Node {
    Node::leaf("", op)
}

fn element(node: Node) -> Document {
    Element::of(node).unwrap().to_document()
}

#[test]
fn element_conditions_are_operators_or_a_filter() {
    let range = on_element(Op::Gte(1.into())).and(on_element(Op::Lt(5.into())));
    assert_eq!(element(range), doc! { "$gte": 1, "$lt": 5 });
    let ne = |value: i32| on_element(Op::Ne(value.into()));
    let twice = ne(1).and(ne(5));
    assert_eq!(
        element(twice.clone()),
        doc! { "$ne": 1, "$not": { "$not": { "$ne": 5 } } }
    );
    assert_eq!(
        element(twice.and(ne(6))),
        doc! { "$ne": 1, "$not": { "$not": { "$ne": 5, "$not": { "$not": { "$ne": 6 } } } } }
    );
    assert_eq!(
        element(Node::leaf("sku", Op::Eq(1.into()))),
        doc! { "sku": { "$eq": 1 } }
    );
    let mixed = on_element(Op::Eq(1.into())).and(gt("sku", 1));
    assert!(Element::of(mixed).is_err());
    assert!(Element::of(ne(1).or(ne(2))).is_err());
    assert!(Element::of(ne(1).not()).is_err());
    // A raw condition of fields, and raw operators.
    let fields = on_element(Op::Is(doc! { "a": 1 }.into()));
    assert_eq!(element(fields), doc! { "a": 1 });
    assert_eq!(
        element(Node::Raw(RawPart::checked(doc! { "$gt": 1 }))),
        doc! { "$gt": 1 }
    );
    let two =
        Node::Raw(RawPart::checked(doc! { "$gt": 1 })).and(Node::Raw(RawPart::checked(doc! { "$lt": 5 })));
    let ops = Element::of(two).unwrap().into_operators();
    assert_eq!(ops, Some(vec![Op::Gt(1.into()), Op::Lt(5.into())]));
    assert_eq!(Element::of(gt("a", 1)).unwrap().into_operators(), None);
    assert_eq!(Element::of(Node::Default).unwrap().into_operators(), None);
}

#[test]
fn negations_of_one_element_are_merged_or_rejected() {
    let not = |op: Op| on_element(Op::Not(vec![op]));
    let equal = not(Op::Eq(1.into())).and(not(Op::In(vec![2.into(), 3.into()])));
    assert_eq!(element(equal), doc! { "$ne": 1, "$nin": [2, 3] });
    // The server has no `$ne` of a regular expression.
    let regex = Bson::RegularExpression(crate::base::bson::Regex {
        pattern: crate::base::bson::cstr!("a").into(),
        options: crate::base::bson::cstr!("").into(),
    });
    let kept = element(not(Op::Eq(regex.clone())));
    assert_eq!(kept, doc! { "$not": { "$eq": regex } });
    let twice = not(Op::Gt(1.into())).and(not(Op::Lt(5.into())));
    let error = Element::of(twice).unwrap_err().to_string();
    assert!(error.contains("`not`"), "{error}");
}

#[test]
fn conditions_of_another_place_have_its_path() {
    let condition = Node::Any(vec![
        Node::leaf("a", Op::Eq(1.into())),
        on_element(Op::Gt(2.into())),
    ]);
    let expected = doc! { "$or": [{ "f0.a": { "$eq": 1 } }, { "f0": { "$gt": 2 } }] };
    assert_eq!(condition.to_document_of(Keys::Under("f0")), expected);
    let raw = Node::Raw(RawPart::checked(
        doc! { "$or": [{ "a": { "$eq": 1 } }, { "b": 2 }] },
    ));
    let expected = doc! { "$or": [{ "f0.a": { "$eq": 1 } }, { "f0.b": 2 }] };
    assert_eq!(raw.to_document_of(Keys::Under("f0")), expected);
    for (node, operator) in [
        (Node::Expr(true.into()), "$expr"),
        (Node::Text(doc! { "$search": "x" }), "$text"),
        (
            Node::Raw(RawPart::checked(doc! { "$nor": [{ "$where": "x" }] })),
            "$where",
        ),
        (gt("a", 1).not().or(Node::Expr(true.into())), "$expr"),
    ] {
        assert_eq!(node.operator_beside_fields().as_deref(), Some(operator));
    }
    assert_eq!(condition.operator_beside_fields(), None);
}

#[test]
fn conditions_on_elements_are_conditions_on_their_array() {
    let inner = Node::Leaf(Leaf {
        path: Cow::Borrowed("sku"),
        op: Op::Eq(1.into()),
        mark: Mark::Encrypted,
    });
    let fields = Element::of(inner.and(gt("qty", 1))).unwrap();
    let node = Node::leaf("lines", Op::Not(vec![Op::ElemMatch(Box::new(fields))]));
    let encrypted = |field: &str| node.encrypted(&[field.to_owned()]);
    // By its mark, and by its path.
    assert_eq!(encrypted("qty").as_deref(), Some("lines.sku"));
    assert_eq!(encrypted("lines").as_deref(), Some("lines"));
    assert_eq!(node.compares_around(&["lines.price".to_owned()]), None);
    assert!(node.check_placed().is_ok());
    assert!(on_element(Op::Eq(1.into())).check_placed().is_err());
    assert!(
        gt("a", 1)
            .and(on_element(Op::Eq(1.into())).not())
            .check_placed()
            .is_err()
    );
}

#[test]
fn comparisons_of_values_around_encrypted_fields_are_found() {
    let fields = ["address.street".to_owned(), "lines.card".to_owned()];
    let around = |path: &'static str, op: Op| Node::leaf(path, op).compares_around(&fields);
    let document = || Bson::Document(doc! { "x": 1 });
    for op in [
        Op::Eq(document()),
        Op::Ne(document()),
        Op::In(vec![document()]),
        Op::Not(vec![Op::Gt(document())]),
        Op::Raw(Box::new(("$gt".to_owned(), document()))),
    ] {
        assert_eq!(
            around("address", op.clone()).as_deref(),
            Some("address.street"),
            "{op:?}"
        );
        assert_eq!(
            around("lines.0", op.clone()).as_deref(),
            Some("lines.card"),
            "{op:?}"
        );
        assert_eq!(around("address.street", op.clone()), None, "{op:?}");
        assert_eq!(around("address.city", op.clone()), None, "{op:?}");
        assert_eq!(around("addresses", op), None);
    }
    for op in [
        Op::Eq(Bson::Null),
        Op::Exists(true),
        Op::Size(2),
        Op::Type("object"),
    ] {
        assert_eq!(around("lines", op.clone()), None, "{op:?}");
    }
    let value = Element::Value(vec![Op::Eq(document())], Mark::Plain);
    let element = around("lines", Op::ElemMatch(Box::new(value)));
    assert_eq!(element.as_deref(), Some("lines.card"));
    // A value of unknown form has the field in every document.
    let hidden = |op: Op| Node::leaf("any", op).compares_around(&[String::new()]);
    for op in [
        Op::Eq(document()),
        Op::All(vec![Bson::Array(vec![document()])]),
        Op::Not(vec![Op::In(vec![document()])]),
    ] {
        assert!(hidden(op.clone()).is_some(), "{op:?}");
    }
    assert_eq!(hidden(Op::Eq(1.into())), None);
}

#[test]
fn raw_parts_name_fields_also_in_elements_and_expressions() {
    let fields = ["lines.card".to_owned()];
    let raw = |document: Document| {
        let document = RawPart {
            document,
            is_unchecked: true,
        };
        Node::Raw(document)
    };
    let in_element = |node: Node| Node::leaf("lines", Op::ElemMatch(Box::new(Element::of(node).unwrap())));
    for node in [
        raw(doc! { "lines.0.card": 1 }),
        raw(doc! { "$or": [{ "a": 1 }, { "lines": { "card": 1 } }] }),
        raw(doc! { "$expr": { "$eq": ["$lines.card", 1] } }),
        in_element(raw(doc! { "card": 1 })),
    ] {
        assert_eq!(
            node.named_in_raw_part(&fields).as_deref(),
            Some("lines.card"),
            "{node:?}"
        );
        assert!(!node.has_raw_part());
    }
    let other = in_element(raw(doc! { "qty": 1 })).and(raw(doc! { "card": 1 }));
    assert_eq!(other.named_in_raw_part(&fields), None);
    let checked = Node::Raw(RawPart::checked(doc! { "qty": 1 }));
    assert!(other.and(checked.not()).has_raw_part());
}
