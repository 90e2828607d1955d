//! Random models: what is written is read, and models without types of crate bson have serde_json's JSON.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

/// A model with leaves of type `T`, nested in itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: DeserializeOwned"))]
struct Node<T> {
    leaf: T,
    text: String,
    number: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    optional: Option<T>,
    variants: Vec<Variant<T>>,
    map: BTreeMap<String, Vec<T>>,
    #[serde(flatten)]
    flattened: Flattened,
    children: Vec<Node<T>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Flattened {
    reference: ObjectId,
    #[serde(flatten)]
    others: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Variant<T> {
    Unit,
    Newtype(T),
    Several(Option<T>, bool),
    Fields { leaf: T, tagged: Option<Tagged> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Id { id: ObjectId, name: String },
    Text { text: String },
}

fn ids() -> impl Strategy<Value = ObjectId> {
    any::<[u8; 12]>().prop_map(ObjectId::from_bytes)
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,8}",
        ids().prop_map(ObjectId::to_hex),
        Just("2024-05-06T07:08:09.120Z".to_owned()),
        Just("$oid".to_owned()),
    ]
}

/// Doubles that serde_json reads as it writes them, without its feature `float_roundtrip`.
fn doubles() -> impl Strategy<Value = f64> {
    any::<i32>().prop_map(|quarters| f64::from(quarters) / 4.0)
}

fn tagged() -> impl Strategy<Value = Tagged> {
    prop_oneof![
        (ids(), texts()).prop_map(|(id, name)| Tagged::Id { id, name }),
        texts().prop_map(|text| Tagged::Text { text }),
    ]
}

fn variants<T: Clone + Debug + 'static>(
    leaf: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Variant<T>> {
    prop_oneof![
        Just(Variant::Unit),
        leaf.clone().prop_map(Variant::Newtype),
        (option::of(leaf.clone()), any::<bool>()).prop_map(|(leaf, flag)| Variant::Several(leaf, flag)),
        (leaf, option::of(tagged())).prop_map(|(leaf, tagged)| Variant::Fields { leaf, tagged }),
    ]
}

fn nodes<T: Clone + Debug + 'static>(
    leaf: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Node<T>> {
    // serde gives a catch-all map each key that no field has.
    let others = btree_map("x[a-z0-9$]{0,4}", doubles(), 0..3);
    let flattened = (ids(), others).prop_map(|(reference, others)| Flattened { reference, others });
    let node = (
        leaf.clone(),
        texts(),
        any::<i64>(),
        option::of(leaf.clone()),
        vec(variants(leaf.clone()), 0..3),
        btree_map(texts(), vec(leaf, 0..3), 0..3),
        flattened,
    )
        .prop_map(|(leaf, text, number, optional, variants, map, flattened)| Node {
            leaf,
            text,
            number,
            optional,
            variants,
            map,
            flattened,
            children: Vec::new(),
        });
    node.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), vec(inner, 0..3)).prop_map(|(mut node, children)| {
            node.children = children;
            node
        })
    })
}

fn dates() -> impl Strategy<Value = DateTime> + Clone {
    (-62_167_219_200_000..=253_402_300_799_999_i64).prop_map(DateTime::from_millis)
}

fn binaries() -> impl Strategy<Value = Binary> + Clone {
    let subtype = prop_oneof![Just(0_u8), Just(4), any::<u8>()];
    let bytes = prop_oneof![vec(any::<u8>(), 0..20), vec(any::<u8>(), 16)];
    (subtype, bytes).prop_map(|(subtype, bytes)| Binary {
        subtype: subtype.into(),
        bytes,
    })
}

fn decimals() -> impl Strategy<Value = Decimal128> + Clone {
    (any::<i64>(), -40..40_i32).prop_map(|(digits, exponent)| format!("{digits}E{exponent}").parse().unwrap())
}

fn round_trip<T: Serialize + DeserializeOwned + Debug + PartialEq>(value: &T) {
    let text = serde_json::to_string(&Plain(value)).unwrap();
    for key in ["{\"$oid\":\"", "{\"$date\":", "{\"$numberDecimal\":"] {
        assert!(!text.contains(key), "{text}");
    }
    assert_eq!(&serde_json::from_str::<Plain<T>>(&text).unwrap().0, value);
}

/// Which fields of `Variant::Fields` are text does not matter: these models have no types of crate bson.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Foreign {
    node: Variant<String>,
    map: BTreeMap<String, Option<f64>>,
    #[serde(flatten)]
    flattened: BTreeMap<String, Value>,
}

fn foreign() -> impl Strategy<Value = Foreign> {
    let node = prop_oneof![
        Just(Variant::Unit),
        texts().prop_map(Variant::Newtype),
        option::of(texts()).prop_map(|text| Variant::Several(text, true)),
        texts().prop_map(|leaf| Variant::Fields { leaf, tagged: None }),
    ];
    let value = prop_oneof![
        Just(Value::Null),
        texts().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        texts().prop_map(|text| json!({ "$oid": text })),
        texts().prop_map(|text| json!([{ "$date": { "$numberLong": text } }])),
    ];
    let map = btree_map(texts(), option::of(doubles()), 0..3);
    let flattened = btree_map("x[a-z0-9$]{0,4}", value, 0..3);
    (node, map, flattened).prop_map(|(node, map, flattened)| Foreign { node, map, flattened })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn models_of_ids_are_read_as_written(node in nodes(ids().boxed())) {
        round_trip(&node);
    }

    #[test]
    fn models_of_dates_are_read_as_written(node in nodes(dates())) {
        round_trip(&node);
    }

    #[test]
    fn models_of_binaries_are_read_as_written(node in nodes(binaries())) {
        round_trip(&node);
    }

    #[test]
    fn models_of_decimals_are_read_as_written(node in nodes(decimals())) {
        round_trip(&node);
    }

    #[test]
    fn models_without_types_of_bson_have_the_same_json(model in foreign()) {
        let text = serde_json::to_string(&model).unwrap();
        prop_assert_eq!(&serde_json::to_string(&Plain(&model)).unwrap(), &text);
        let Plain(read) = serde_json::from_str::<Plain<Foreign>>(&text).unwrap();
        prop_assert_eq!(&read, &model);
        prop_assert_eq!(read, serde_json::from_str(&text).unwrap());
    }
}
