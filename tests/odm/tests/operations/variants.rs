//! Enum variants in filters and updates, in every representation of serde and at every depth of
//! arrays: a filter matches only if the same value has the variant and matches the condition, and
//! an update does not change values of other variants.

use crate::common::Env;
use marula::bson::{Bson, DateTime, Document as Doc, doc};
use marula::prelude::*;
use marula::{BsonType, Document, Embedded, Error, Filter, IntoUpdate, Update};
use serde::{Deserialize, Serialize};

/// The fields of a variant. Both variants have the same fields, so that the paths through them are
/// equal.
#[derive(Clone, Copy)]
struct Values<'a> {
    cents: i64,
    note: Option<&'a str>,
    tags: &'a [String],
}

/// The enum values of a stored account, with their paths.
fn places(account: &Doc) -> Vec<(String, Bson)> {
    let mut found = Vec::new();
    for field in ["last", "maybe"] {
        if let Some(value) = account.get(field) {
            found.push((field.to_owned(), value.clone()));
        }
    }
    let events = |at: &str, holder: &Doc, found: &mut Vec<(String, Bson)>| {
        for (index, value) in holder.get_array("events").expect("an array").iter().enumerate() {
            found.push((format!("{at}events.{index}"), value.clone()));
        }
    };
    events("", account, &mut found);
    for (index, group) in account.get_array("groups").expect("an array").iter().enumerate() {
        let group = group.as_document().expect("a document");
        events(&format!("groups.{index}."), group, &mut found);
    }
    found
}

/// All update operators on the fields of a variant; `rename` only for paths without positional
/// segments.
macro_rules! operators {
    ($variant:expr) => {{
        let v = $variant;
        vec![
            ("set", v.cents().set(7).into_update()),
            ("set a whole array", v.tags().set(["x"]).into_update()),
            ("set_null", v.note().set_null().into_update()),
            ("unset", v.cents().unset().into_update()),
            ("set_on_insert", v.cents().set_on_insert(7).into_update()),
            ("inc", v.cents().inc(1).into_update()),
            ("dec", v.cents().dec(1).into_update()),
            ("mul", v.cents().mul(3).into_update()),
            ("min", v.cents().min(-5).into_update()),
            ("max", v.cents().max(5_000).into_update()),
            ("current_date", v.at().current_date().into_update()),
            ("bit_and", v.cents().bit_and(1).into_update()),
            ("bit_or", v.cents().bit_or(1_024).into_update()),
            ("bit_xor", v.cents().bit_xor(1).into_update()),
            ("push", v.tags().push("x").into_update()),
            ("push_each", v.tags().push_each(["x", "y"]).into_update()),
            ("add_to_set", v.tags().add_to_set("x").into_update()),
            ("add_each_to_set", v.tags().add_each_to_set(["x"]).into_update()),
            ("pull", v.tags().pull(|t| t.eq("a")).into_update()),
            ("pull_all", v.tags().pull_all(["a"]).into_update()),
            ("pop_first", v.tags().pop_first().into_update()),
            ("pop_last", v.tags().pop_last().into_update()),
            ("an element", v.tags().nth(0).set("x").into_update()),
            ("all elements", v.tags().nth(0).set("x").and(v.cents().inc(1))),
            ("raw", v.cents().raw_operator("$set", "raw").into_update()),
        ]
    }};
}

/// All filter operators on the fields of a variant, each with the equivalent predicate on the
/// values.
macro_rules! conditions {
    ($variant:expr, $root:ty) => {{
        let v = $variant;
        let all: Vec<(&str, Filter<$root>, fn(Values<'_>) -> bool)> = vec![
            ("eq", v.cents().eq(500), |r| r.cents == 500),
            ("ne", v.cents().ne(500), |r| r.cents != 500),
            ("gt", v.cents().gt(100), |r| r.cents > 100),
            ("gte", v.cents().gte(500), |r| r.cents >= 500),
            ("lt", v.cents().lt(500), |r| r.cents < 500),
            ("lte", v.cents().lte(1), |r| r.cents <= 1),
            ("between", v.cents().between(2, 600), |r| {
                (2..=600).contains(&r.cents)
            }),
            ("is_in", v.cents().is_in([500, 7]), |r| {
                r.cents == 500 || r.cents == 7
            }),
            ("not_in", v.cents().not_in([500]), |r| r.cents != 500),
            ("is_in, null", v.note().is_in([None::<String>]), |r| {
                r.note.is_none()
            }),
            ("exists", v.note().exists(), |r| r.note.is_some()),
            ("is_missing", v.note().is_missing(), |r| r.note.is_none()),
            ("is_null", v.note().is_null(), |r| r.note.is_none()),
            ("is_not_null", v.note().is_not_null(), |r| r.note.is_some()),
            ("type_is", v.cents().type_is(BsonType::Int64), |_| true),
            ("modulo", v.cents().modulo(500, 0), |r| r.cents % 500 == 0),
            ("bits", v.cents().bits_all_set(4), |r| r.cents & 4 == 4),
            ("regex", v.note().regex("^b"), |r| {
                r.note.is_some_and(|n| n.starts_with('b'))
            }),
            ("starts_with", v.note().starts_with("b"), |r| {
                r.note.is_some_and(|n| n.starts_with('b'))
            }),
            ("contains_text", v.note().contains_text("i"), |r| {
                r.note.is_some_and(|n| n.contains('i'))
            }),
            ("not", v.cents().not(|c| c.gt(100)), |r| r.cents <= 100),
            ("contains", v.tags().contains("a"), |r| {
                r.tags.iter().any(|t| t == "a")
            }),
            ("all", v.tags().all(["a", "b"]), |r| {
                r.tags.iter().any(|t| t == "a") && r.tags.iter().any(|t| t == "b")
            }),
            ("size", v.tags().size(2), |r| r.tags.len() == 2),
            ("any", v.tags().any().eq("b"), |r| r.tags.iter().any(|t| t == "b")),
            ("elem_match", v.tags().elem_match(|t| t.gt("a")), |r| {
                r.tags.iter().any(|t| t.as_str() > "a")
            }),
            (
                "raw_condition",
                v.cents().raw_condition(doc! { "$gt": 100 }),
                |r| r.cents > 100,
            ),
        ];
        all
    }};
}

/// Defines the models, the documents and the tests for one representation of serde.
macro_rules! representation {
    ($name:ident, #[$serde:meta], $is_charge:expr) => {
        mod $name {
            use super::*;

            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
            #[$serde]
            enum Event {
                Refund {
                    cents: i64,
                    #[serde(skip_serializing_if = "Option::is_none", default)]
                    note: Option<String>,
                    tags: Vec<String>,
                    at: DateTime,
                    #[serde(skip_serializing_if = "Option::is_none", default)]
                    moved: Option<i64>,
                },
                Charge {
                    cents: i64,
                    #[serde(skip_serializing_if = "Option::is_none", default)]
                    note: Option<String>,
                    tags: Vec<String>,
                    at: DateTime,
                    #[serde(skip_serializing_if = "Option::is_none", default)]
                    moved: Option<i64>,
                },
                Opened,
            }

            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
            struct Group {
                events: Vec<Event>,
            }

            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
            #[document(collection = "accounts")]
            struct Account {
                _id: i64,
                last: Event,
                maybe: Option<Event>,
                events: Vec<Event>,
                groups: Vec<Group>,
            }

            fn values(cents: i64) -> (i64, Option<String>, Vec<String>, DateTime) {
                let note = (cents % 2 == 0).then(|| "big".to_owned());
                let tags = ["a", "b"].map(str::to_owned)[..usize::from(cents > 6) + 1].to_vec();
                (cents, note, tags, DateTime::from_millis(0))
            }

            fn refund(cents: i64) -> Event {
                let (cents, note, tags, at) = values(cents);
                Event::Refund { cents, note, tags, at, moved: None }
            }

            fn charge(cents: i64) -> Event {
                let (cents, note, tags, at) = values(cents);
                Event::Charge { cents, note, tags, at, moved: None }
            }

            fn refunded(event: &Event) -> Option<Values<'_>> {
                match event {
                    Event::Refund { cents, note, tags, .. } => Some(Values {
                        cents: *cents,
                        note: note.as_deref(),
                        tags,
                    }),
                    _ => None,
                }
            }

            /// Accounts with all combinations of variants and of small and large values.
            fn accounts() -> Vec<Account> {
                let lists = [
                    vec![refund(1), charge(500)],
                    vec![charge(500), refund(1)],
                    vec![refund(500), charge(1)],
                    vec![refund(7), refund(500), charge(500), charge(7)],
                    vec![charge(1), charge(500)],
                    vec![Event::Opened, refund(4)],
                    vec![Event::Opened],
                    Vec::new(),
                ];
                let singles = [refund(1), charge(500), refund(500), charge(1), Event::Opened];
                let mut accounts = Vec::new();
                for (index, events) in lists.iter().enumerate() {
                    for (second, last) in singles.iter().enumerate() {
                        accounts.push(Account {
                            _id: i64::try_from(accounts.len()).expect("few"),
                            last: last.clone(),
                            maybe: (second > 0).then(|| singles[(index + second) % singles.len()].clone()),
                            events: events.clone(),
                            groups: vec![
                                Group { events: lists[(index + second) % lists.len()].clone() },
                                Group { events: vec![charge(500), refund(1)] },
                            ],
                        });
                    }
                }
                accounts
            }

            fn is_other(value: &Bson) -> bool {
                let is_charge: fn(&Doc) -> bool = $is_charge;
                value.as_document().is_none_or(is_charge)
            }

            #[tokio::test]
            async fn updates_do_not_change_other_variants() {
                let env = Env::start().await;
                let accounts = env.db.collection::<Account>();
                let raw = accounts.driver().clone_with_type::<Doc>();
                // Every third account has each value at each path.
                let all: Vec<Account> = super::$name::accounts().into_iter().step_by(3).collect();
                let a = Account::fields();
                let mut paths: Vec<(&str, Vec<(&str, Update<Account>)>)> = vec![
                    ("plain", operators!(a.last().refund())),
                    ("in an Option", operators!(a.maybe().refund())),
                    ("by index", operators!(a.events().nth(0).refund())),
                    ("all_positional", operators!(a.events().all_positional().refund())),
                    (
                        "filtered_positional",
                        operators!(a.events().filtered_positional(|e| e.is_refund() | e.is_charge()).refund()),
                    ),
                    (
                        "filtered by the variant",
                        operators!(a.events().filtered_positional(|e| e.refund().cents().gt(0)).refund()),
                    ),
                    (
                        "two arrays",
                        operators!(a.groups().all_positional().events().all_positional().refund()),
                    ),
                    ("index, all", operators!(a.groups().nth(0).events().all_positional().refund())),
                    (
                        "filtered, index",
                        operators!(
                            a.groups()
                                .filtered_positional(|g| g.events().is_refund())
                                .events()
                                .nth(1)
                                .refund()
                        ),
                    ),
                ];
                let v = a.last().refund();
                paths[0].1.push(("rename", v.cents().rename(v.moved().some())));
                for (path, operators) in paths {
                    for (operator, update) in operators {
                        let what = format!("{operator}, {path}: {update}");
                        accounts.delete_many(|_| Filter::everything()).await.unwrap();
                        accounts.insert_many(&all).await.unwrap();
                        let before: Vec<Doc> = raw.find(doc! {}).await.unwrap().try_collect().await.unwrap();
                        // Documents in which the index is beyond the end of the array are skipped.
                        let long = doc! { "events.1": { "$exists": true }, "groups.0.events.1": { "$exists": true } };
                        accounts
                            .update_many(|_| Filter::raw(long), |_| update)
                            .required()
                            .await
                            .unwrap_or_else(|e| panic!("{what}: {e}"));
                        let after: Vec<Doc> = raw.find(doc! {}).await.unwrap().try_collect().await.unwrap();
                        let mut changed = false;
                        for (before, after) in before.iter().zip(&after) {
                            let (before, after) = (places(before), places(after));
                            assert_eq!(before.len(), after.len(), "{what}");
                            for (old, new) in before.iter().zip(&after) {
                                changed |= old != new;
                                assert!(old == new || !is_other(&old.1), "{what}: {old:?} became {new:?}");
                            }
                        }
                        assert_eq!(changed, operator != "set_on_insert", "{what} changed nothing");
                    }
                }
                env.stop().await;
            }

            #[tokio::test]
            async fn filters_match_if_one_value_matches_all_conditions() {
                let env = Env::start().await;
                let accounts = env.db.collection::<Account>();
                let all = super::$name::accounts();
                accounts.insert_many(&all).await.unwrap();
                let a = Account::fields();
                let paths: Vec<(&str, Vec<_>, fn(&Account) -> Vec<&Event>)> = vec![
                    ("plain", conditions!(a.last().refund(), Account), |a| vec![&a.last]),
                    ("in an Option", conditions!(a.maybe().refund(), Account), |a| {
                        a.maybe.iter().collect()
                    }),
                    ("in an array", conditions!(a.events().refund(), Account), |a| {
                        a.events.iter().collect()
                    }),
                    ("any", conditions!(a.events().any().refund(), Account), |a| {
                        a.events.iter().collect()
                    }),
                    ("by index", conditions!(a.events().nth(1).refund(), Account), |a| {
                        a.events.get(1).into_iter().collect()
                    }),
                    ("two arrays", conditions!(a.groups().events().refund(), Account), |a| {
                        a.groups.iter().flat_map(|g| &g.events).collect()
                    }),
                    (
                        "index in the outer",
                        conditions!(a.groups().nth(0).events().refund(), Account),
                        |a| a.groups[0].events.iter().collect(),
                    ),
                    (
                        "index in the inner",
                        conditions!(a.groups().events().nth(0).refund(), Account),
                        |a| a.groups.iter().filter_map(|g| g.events.first()).collect(),
                    ),
                ];
                let mut matched = 0;
                for (path, conditions, events) in paths {
                    for (operator, filter, holds) in conditions {
                        // The server also interprets an index as a field name, which the elements
                        // do not have.
                        if path.contains("index") && operator.contains("null") {
                            continue;
                        }
                        let what = format!("{operator}, {path}: {filter}");
                        let found = accounts.find(|_| filter).sort(|a| a._id().asc()).await.expect(&what);
                        let is_array = !["plain", "in an Option", "by index"].contains(&path);
                        let is_negation = ["ne", "not_in", "is_missing", "not"].contains(&operator);
                        let matches = |a: &&Account| {
                            let mut values = events(a).into_iter().filter_map(refunded);
                            // A negation matches if no element matches the condition that it negates.
                            if is_array && is_negation { values.all(holds) } else { values.any(holds) }
                        };
                        let expected: Vec<i64> = all
                            .iter()
                            .filter(matches)
                            .map(|a| a._id)
                            .collect();
                        let found: Vec<i64> = found.iter().map(|a| a._id).collect();
                        assert_eq!(found, expected, "{what}");
                        matched += found.len();
                    }
                }
                assert!(matched > 0);
                env.stop().await;
            }

            #[test]
            fn a_positional_segment_before_a_variant_is_rejected() {
                let a = Account::fields();
                let update = a.events().positional().refund().cents().set(7);
                let error = update.compile().unwrap_err();
                assert!(
                    matches!(&error, Error::InvalidUpdate { reason, .. } if reason.contains("filtered_positional")),
                    "{error}"
                );
            }

            #[tokio::test]
            async fn an_upsert_through_a_variant_is_rejected() {
                let env = Env::start().await;
                let accounts = env.db.collection::<Account>();
                let all = super::$name::accounts();
                accounts.insert_many(&all).await.unwrap();
                let other = all.iter().find(|a| refunded(&a.last).is_none()).expect("another variant");
                let upsert = accounts
                    .update_by_id(other._id, |a| a.last().refund().cents().set(7))
                    .upsert(true)
                    .await;
                assert!(matches!(upsert, Err(Error::InvalidUpdate { .. })), "{upsert:?}");
                let found = accounts
                    .find_one_and_update(|a| a._id().eq(other._id), |a| a.last().refund().cents().set(7))
                    .upsert(true)
                    .await;
                assert!(matches!(found, Err(Error::InvalidUpdate { .. })), "{found:?}");
                let plain = accounts
                    .find_one_and_update(|a| a._id().eq(other._id), |a| a.last().refund().cents().set(7))
                    .await;
                assert_eq!(plain.unwrap(), None, "another variant does not match");
                let demanded = accounts
                    .update_by_id(other._id, |a| a.last().refund().cents().set(7))
                    .required()
                    .await;
                assert!(matches!(demanded, Err(Error::NotFound { .. })), "{demanded:?}");
                assert_eq!(accounts.find_all().sort(|a| a._id().asc()).await.unwrap(), all);
                env.stop().await;
            }
        }
    };
}

representation!(external, #[serde(rename_all = "PascalCase")], |d| d.contains_key("Charge"));
representation!(internal, #[serde(tag = "kind")], |d| d.get_str("kind").ok() != Some("Refund"));
representation!(adjacent, #[serde(tag = "t", content = "c")], |d| d.get_str("t").ok() != Some("Refund"));
