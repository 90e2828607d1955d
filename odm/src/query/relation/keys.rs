//! The keys of a relation: the values that documents are related by, compared as the server compares them.

use std::collections::HashMap;

use crate::{
    base::{
        bson::{Bson, Document, doc, to_vec},
        decimal::Digits,
        error::{Error, Result},
    },
    term::filter::not_in_lists,
};

/// Maximum number of keys of one query. 10,000 UUIDs in an `$in` are about 0.3 MB, and strings of 1,000 bytes are below the limit
/// of 16 MiB for a command.
pub(super) const KEYS: usize = 10_000;

/// The distinct keys of the documents of a query, and where the documents of each key belong.
#[derive(Default)]
pub struct Slots {
    /// The keys, in the order in which they were added.
    keys: Vec<Bson>,
    /// The index of each key and its slots, by its bytes.
    slots: HashMap<Vec<u8>, (usize, Vec<usize>)>,
}

/// The keys of one query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'s> {
    keys: &'s [Bson],
    /// The index of the first one.
    start: usize,
}

impl<'s> Keys<'s> {
    pub(super) fn values(self) -> &'s [Bson] {
        self.keys
    }
}

impl Slots {
    /// Adds a key whose documents belong into a slot. Null is the key of no document.
    pub(super) fn add(&mut self, field: &str, key: Bson, slot: usize) -> Result<()> {
        if let Some(reason) = not_in_lists(std::slice::from_ref(&key)) {
            return Err(Error::filter(field, reason));
        }
        let Some(bytes) = key_bytes(&key).map_err(|e| Error::encode(field, e.into()))? else {
            return Ok(());
        };
        let (_, slots) = self.slots.entry(bytes).or_insert_with(|| {
            self.keys.push(key);
            (self.keys.len() - 1, Vec::new())
        });
        slots.push(slot);
        Ok(())
    }

    /// The keys, divided into queries.
    pub(super) fn queries(&self) -> impl Iterator<Item = Keys<'_>> {
        let chunks = self.keys.chunks(KEYS).enumerate();
        chunks.map(|(at, keys)| Keys {
            keys,
            start: at * KEYS,
        })
    }

    /// The slots of a document that has these values and was found by the keys of a query, each slot once. Empty if none of
    /// the keys is equal to one of the values.
    pub(super) fn of(&self, query: Keys<'_>, values: &[Bson]) -> Vec<usize> {
        let mut found = Vec::new();
        for value in values {
            let Ok(Some(bytes)) = key_bytes(value) else {
                continue;
            };
            if let Some((index, slots)) = self.slots.get(&bytes)
                && (query.start..query.start + query.keys.len()).contains(index)
            {
                found.extend_from_slice(slots);
            }
        }
        if values.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}

/// Bytes that are equal for values that the server finds equal: numbers of different types with the same value are. `None` for
/// null.
fn key_bytes(key: &Bson) -> std::result::Result<Option<Vec<u8>>, crate::base::bson::EncodeError> {
    if matches!(key, Bson::Null | Bson::Undefined) {
        return Ok(None);
    }
    to_vec(&doc! { "": comparable(key) }).map(Some)
}

/// The value with its numbers in one form: an Int64 where that is exact.
fn comparable(value: &Bson) -> Bson {
    match value {
        Bson::Int32(number) => Bson::Int64(i64::from(*number)),
        Bson::Double(number) => whole(*number).map_or(Bson::Double(*number), Bson::Int64),
        Bson::Decimal128(decimal) => match Digits::of(decimal) {
            // A type that other keys do not have.
            Some(digits) => digits
                .whole()
                .map_or_else(|| Bson::Symbol(digits.shortest()), Bson::Int64),
            None => value.clone(),
        },
        Bson::Document(document) => Bson::Document(fields(document)),
        Bson::Array(items) => Bson::Array(items.iter().map(comparable).collect()),
        other => other.clone(),
    }
}

fn fields(document: &Document) -> Document {
    document
        .iter()
        .map(|(name, value)| (name.clone(), comparable(value)))
        .collect()
}

/// A double as an integer, if it is one.
fn whole(number: f64) -> Option<i64> {
    // 2^63, which is the first double above all of them.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let is_whole = number.fract() == 0.0 && (-END..END).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number is whole and in the range of an `i64`"
    )]
    is_whole.then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(keys: impl IntoIterator<Item = Bson>) -> Slots {
        let mut slots = Slots::default();
        for (slot, key) in keys.into_iter().enumerate() {
            slots.add("_id", key, slot).unwrap();
        }
        slots
    }

    fn of(slots: &Slots, values: &[Bson]) -> Vec<usize> {
        slots
            .queries()
            .flat_map(|query| slots.of(query, values))
            .collect()
    }

    #[test]
    fn keys_are_distinct_and_divided() {
        let keys = (0..25_000_i64).map(|n| Bson::Int64(n % 20_001));
        let slots = slots(keys.chain([Bson::Null]));
        let queries: Vec<usize> = slots.queries().map(|query| query.values().len()).collect();
        assert_eq!(queries, [10_000, 10_000, 1]);
        let all: Vec<Keys<'_>> = slots.queries().collect();
        assert_eq!(slots.of(all[0], &[Bson::Int64(0)]), [0, 20_001]);
        assert_eq!(slots.of(all[0], &[Bson::Null]), [0_usize; 0]);
        // A document that two queries find belongs to the keys of each.
        let both = [Bson::Int64(5), Bson::Int64(10_005)];
        assert_eq!(slots.of(all[0], &both), [5, 20_006]);
        assert_eq!(slots.of(all[1], &both), [10_005]);
    }

    #[test]
    fn numbers_are_equal_by_their_value() {
        let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
        let numbers = || {
            [
                Bson::Int32(5),
                Bson::Int64(5),
                Bson::Double(5.0),
                decimal("5.0"),
                decimal("0.5E1"),
            ]
        };
        let slots = slots(numbers());
        assert_eq!(
            slots
                .queries()
                .map(|query| query.values().len())
                .collect::<Vec<_>>(),
            [1]
        );
        for number in numbers() {
            assert_eq!(of(&slots, &[number]), [0, 1, 2, 3, 4]);
        }
        for other in [
            Bson::Double(5.5),
            Bson::from("5"),
            decimal("5.1"),
            Bson::Double(f64::NAN),
        ] {
            assert!(of(&slots, &[other]).is_empty());
        }
        let fractions = self::slots([decimal("1.50")]);
        assert_eq!(of(&fractions, &[decimal("1.5")]), [0]);
        assert!(of(&fractions, &[decimal("15")]).is_empty());
        assert_eq!(whole(9_223_372_036_854_775_808.0), None);
        assert_eq!(whole(-9_223_372_036_854_775_808.0), Some(i64::MIN));
    }

    #[test]
    fn documents_are_equal_by_their_fields_in_order() {
        let slots = slots([doc! { "a": 1, "b": 2.0 }.into()]);
        assert_eq!(of(&slots, &[doc! { "a": 1_i64, "b": 2 }.into()]), [0]);
        assert!(of(&slots, &[doc! { "b": 2, "a": 1 }.into()]).is_empty());
    }

    #[test]
    fn a_document_with_several_keys_is_in_each_slot_once() {
        let slots = slots([1.into(), 2.into(), 3.into()]);
        assert_eq!(of(&slots, &[3.into(), 1.into(), 3.into(), 7.into()]), [0, 2]);
    }

    #[test]
    fn regular_expressions_are_no_keys() {
        let pattern = crate::base::bson::Regex {
            pattern: "a".to_owned().try_into().unwrap(),
            options: String::new().try_into().unwrap(),
        };
        let refused = Slots::default().add("slug", Bson::RegularExpression(pattern), 0);
        assert!(matches!(refused, Err(Error::InvalidFilter { .. })));
    }
}
