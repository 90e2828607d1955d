//! Random filters of the typed operators: the test server finds the documents for which a plain evaluation in Rust is true.
//!
//! The documents have arrays, nulls, missing fields and fields of variants.

use crate::common::Env;
use marula::bson::{Document as BsonDocument, doc};
use marula::{Document, Embedded, Filter, Model, prelude::*};

#[derive(Debug, Document)]
#[document(collection = "things")]
struct Thing {
    _id: i32,
    number: Option<i32>,
    #[document(skip_none)]
    left_out: Option<i32>,
    list: Vec<i32>,
    parts: Vec<Part>,
    choice: Choice,
}

#[derive(Debug, Embedded)]
struct Part {
    size: i32,
    note: Option<i32>,
}

#[derive(Debug, Embedded)]
#[serde(tag = "type")]
enum Choice {
    First { rank: i32 },
    Second { rank: i32 },
    Neither,
}

/// Numbers of a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    /// A number below `limit`.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % limit
    }

    fn small(&mut self) -> i32 {
        i32::try_from(self.below(4)).expect("a small number")
    }

    fn some(&mut self) -> Option<i32> {
        (self.below(3) > 0).then(|| self.small())
    }
}

fn thing(id: i32, numbers: &mut Numbers) -> Thing {
    let part = |numbers: &mut Numbers| Part {
        size: numbers.small(),
        note: numbers.some(),
    };
    Thing {
        _id: id,
        number: numbers.some(),
        left_out: numbers.some(),
        list: (0..numbers.below(3)).map(|_| numbers.small()).collect(),
        parts: (0..numbers.below(3)).map(|_| part(numbers)).collect(),
        choice: match numbers.below(3) {
            0 => Choice::First {
                rank: numbers.small(),
            },
            1 => Choice::Second {
                rank: numbers.small(),
            },
            _ => Choice::Neither,
        },
    }
}

/// A condition, as a filter and as a function.
type Condition = (Filter<Thing>, Box<dyn Fn(&Thing) -> bool>);

fn condition(filter: Filter<Thing>, is_true: impl Fn(&Thing) -> bool + 'static) -> Condition {
    (filter, Box::new(is_true))
}

fn rank(thing: &Thing) -> Option<i32> {
    match thing.choice {
        Choice::First { rank } => Some(rank),
        Choice::Second { .. } | Choice::Neither => None,
    }
}

fn leaf(numbers: &mut Numbers) -> Condition {
    let (t, n) = (Thing::fields(), numbers.small());
    match numbers.below(16) {
        0 => condition(t.number().eq(n), move |t| t.number == Some(n)),
        1 => condition(t.number().ne(n), move |t| t.number != Some(n)),
        2 => condition(t.number().gt(n), move |t| t.number.is_some_and(|x| x > n)),
        3 => condition(t.number().eq(None::<i32>), |t| t.number.is_none()),
        4 => condition(t.left_out().lte(n), move |t| t.left_out.is_some_and(|x| x <= n)),
        5 => condition(t.left_out().exists(), |t| t.left_out.is_some()),
        6 => condition(t.left_out().is_in([n, n + 1]), move |t| {
            t.left_out.is_some_and(|x| x == n || x == n + 1)
        }),
        7 => condition(t.list().contains(n), move |t| t.list.contains(&n)),
        8 => condition(t.list().size(n.unsigned_abs() % 3), move |t| {
            t.list.len() == n.unsigned_abs() as usize % 3
        }),
        9 => condition(t.list().any().gt(n), move |t| t.list.iter().any(|x| *x > n)),
        10 => condition(t.parts().any().size().eq(n), move |t| {
            t.parts.iter().any(|p| p.size == n)
        }),
        11 => condition(
            t.parts().elem_match(|p| p.size().gte(n) & p.note().eq(n)),
            move |t| t.parts.iter().any(|p| p.size >= n && p.note == Some(n)),
        ),
        12 => condition(t.choice().first().rank().eq(n), move |t| rank(t) == Some(n)),
        13 => condition(t.choice().first().rank().lt(n), move |t| {
            rank(t).is_some_and(|x| x < n)
        }),
        14 => condition(t.choice().is_neither(), |t| matches!(t.choice, Choice::Neither)),
        _ => condition(t.number().gte(n) & t.number().lte(n + 1), move |t| {
            t.number.is_some_and(|x| (n..=n + 1).contains(&x))
        }),
    }
}

fn tree(numbers: &mut Numbers, depth: u32) -> Condition {
    if depth == 0 || numbers.below(4) == 0 {
        return leaf(numbers);
    }
    let (filter, is_true) = tree(numbers, depth - 1);
    if numbers.below(4) == 0 {
        return condition(!filter, move |thing| !is_true(thing));
    }
    let (other, is_other) = tree(numbers, depth - 1);
    if numbers.below(2) == 0 {
        condition(filter & other, move |thing| is_true(thing) && is_other(thing))
    } else {
        condition(filter | other, move |thing| is_true(thing) || is_other(thing))
    }
}

#[tokio::test]
async fn the_server_finds_what_the_filters_mean() {
    let env = Env::start().await;
    let things = env.db.collection::<Thing>();
    let mut numbers = Numbers(7);
    let all: Vec<Thing> = (0..60).map(|id| thing(id, &mut numbers)).collect();
    things.insert_many(&all).await.unwrap();
    // A field that is missing is null for every operator of these filters.
    let missing = things.driver().clone_with_type::<BsonDocument>();
    let found = missing
        .count_documents(doc! { "left_out": { "$exists": false } })
        .await
        .unwrap();
    assert!(found > 5 && found < 55);
    let (mut some, mut none) = (0, 0);
    for round in 0..1_500 {
        let (filter, is_true) = tree(&mut numbers, 4);
        let text = filter.to_string();
        let expected: Vec<i32> = all.iter().filter(|t| is_true(t)).map(|t| t._id).collect();
        let found = things
            .find(|_| filter)
            .sort(|t| t._id().asc())
            .comment("generated")
            .all()
            .await;
        let found = found.unwrap_or_else(|error| panic!("{round}: {text}: {error}"));
        let found: Vec<i32> = found.iter().map(|t| t._id).collect();
        assert_eq!(found, expected, "{round}: {text}");
        if expected.is_empty() { none += 1 } else { some += 1 }
    }
    assert!(some > 500 && none > 20, "{some} {none}");
    env.stop().await;
}
