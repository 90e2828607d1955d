//! The representations of enums.

use std::collections::BTreeMap;

use marula::Embedded;
use marula::bson::{DateTime, Decimal128};
use serde::{Deserialize, Serialize};

use super::{Form, any, sample};

#[derive(Embedded)]
struct Item {
    name: String,
    at: Option<DateTime>,
}

#[derive(Embedded)]
struct Unit;

#[derive(Embedded)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
enum External {
    NoContent,
    Newtype(Item),
    Date(DateTime),
    Two(DateTime, Option<i32>),
    Named {
        first_item: Item,
        #[serde(default)]
        second_item: Option<Item>,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    },
    #[serde(rename = "OTHER", alias = "another", rename_all = "UPPERCASE")]
    Renamed {
        the_number: i32,
    },
    #[serde(skip)]
    #[expect(dead_code, reason = "the variant is not read")]
    Never,
}

#[derive(Embedded)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Internal {
    Nothing,
    #[serde(alias = "thing")]
    Item(Item),
    Named {
        at: DateTime,
        text: String,
    },
    Boxed(Box<Item>),
    Map(BTreeMap<String, i32>),
    Opaque(#[document(opaque)] BTreeMap<String, i32>),
    Unit(Unit),
    #[serde(other)]
    Unknown,
}

#[derive(Embedded)]
#[serde(tag = "kind", deny_unknown_fields)]
enum Strict {
    Named { number: i32 },
    Empty {},
}

#[derive(Embedded)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Nothing,
    Date(DateTime),
    Optional(Option<i32>),
    Two(Item, DateTime),
    #[serde(alias = "named")]
    Named {
        number: i32,
        item: Item,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Embedded)]
#[serde(tag = "t", content = "c", deny_unknown_fields)]
enum StrictAdjacent {
    Named { number: i32 },
    Item(Item),
    Nothing,
}

#[derive(Embedded)]
#[serde(untagged)]
enum Untagged {
    Date(DateTime),
    Chrono(chrono::NaiveDate),
    Text(String),
    Number(Decimal128),
    Small(i32),
    Half(f32),
    Bytes(Vec<u8>),
    Item(Item),
    Named { text: String, more: Option<i32> },
    All(Vec<DateTime>),
    Two(i64, String),
    Nested(Box<Untagged>, Box<Untagged>),
    Map(BTreeMap<String, i64>),
    Nothing,
}

#[derive(Embedded)]
enum PartlyExternal {
    Tagged(i32),
    Alone,
    #[serde(untagged)]
    Text(String),
    #[serde(untagged)]
    Item {
        name: String,
    },
}

#[derive(Embedded)]
#[serde(tag = "kind")]
enum PartlyInternal {
    Tagged {
        number: i32,
    },
    #[serde(untagged)]
    Item(Item),
}

#[derive(Embedded)]
#[serde(tag = "t", content = "c")]
enum PartlyAdjacent {
    Tagged(i32),
    #[serde(untagged)]
    Text(String),
}

mod swapped {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        left: &i32,
        right: &String,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        (right, left).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(i32, String), D::Error> {
        let (right, left) = Deserialize::deserialize(deserializer)?;
        Ok((left, right))
    }
}

#[derive(Embedded)]
enum ByFunction {
    #[serde(with = "swapped")]
    Swapped(i32, String),
    Field(
        #[serde(with = "super::structs::as_text")]
        #[document(opaque)]
        u128,
    ),
}

/// Serde writes and reads an enum with numbers.
#[derive(Serialize, Deserialize, Embedded)]
#[repr(u8)]
enum Numbered {
    One = 1,
    Two,
}

sample::structs! {
    Item { name, at }
    Unit {}
}

sample::enums! {
    External {
        |_| External::NoContent,
        |random| External::Newtype(any(random)),
        |random| External::Date(any(random)),
        |random| External::Two(any(random), any(random)),
        |random| External::Named { first_item: any(random), second_item: any(random), rest: any(random) },
        |random| External::Renamed { the_number: any(random) },
    }
    Internal {
        |_| Internal::Nothing,
        |random| Internal::Item(any(random)),
        |random| Internal::Named { at: any(random), text: any(random) },
        |random| Internal::Boxed(any(random)),
        |random| Internal::Map(any(random)),
        |random| Internal::Opaque(any(random)),
        |random| Internal::Unit(any(random)),
        |_| Internal::Unknown,
    }
    Strict {
        |random| Strict::Named { number: any(random) },
        |_| Strict::Empty {},
    }
    Adjacent {
        |_| Adjacent::Nothing,
        |random| Adjacent::Date(any(random)),
        |random| Adjacent::Optional(any(random)),
        |random| Adjacent::Two(any(random), any(random)),
        |random| Adjacent::Named { number: any(random), item: any(random) },
        |_| Adjacent::Unknown,
    }
    StrictAdjacent {
        |random| StrictAdjacent::Named { number: any(random) },
        |random| StrictAdjacent::Item(any(random)),
        |_| StrictAdjacent::Nothing,
    }
    PartlyExternal {
        |random| PartlyExternal::Tagged(any(random)),
        |_| PartlyExternal::Alone,
        |random| PartlyExternal::Text(any(random)),
        |random| PartlyExternal::Item { name: any(random) },
    }
    PartlyInternal {
        |random| PartlyInternal::Tagged { number: any(random) },
        |random| PartlyInternal::Item(any(random)),
    }
    PartlyAdjacent {
        |random| PartlyAdjacent::Tagged(any(random)),
        |random| PartlyAdjacent::Text(any(random)),
    }
    ByFunction {
        |random| ByFunction::Swapped(any(random), any(random)),
        |random| ByFunction::Field(any(random)),
    }
    Numbered {
        |_| Numbered::One,
        |_| Numbered::Two,
    }
}

impl sample::Sample for Untagged {
    fn sample(random: &mut super::Random) -> Self {
        if random.below(8) == 0 {
            return Untagged::Nested(any(random), any(random));
        }
        sample::one_of(
            random,
            &[
                |random| Untagged::Date(any(random)),
                |random| Untagged::Chrono(any(random)),
                |random| Untagged::Text(any(random)),
                |random| Untagged::Number(any(random)),
                |random| Untagged::Small(any(random)),
                |random| Untagged::Half(any(random)),
                |random| Untagged::Bytes(any(random)),
                |random| Untagged::Item(any(random)),
                |random| Untagged::Named {
                    text: any(random),
                    more: any(random),
                },
                |random| Untagged::All(any(random)),
                |random| Untagged::Two(any(random), any(random)),
                |random| Untagged::Map(any(random)),
                |_| Untagged::Nothing,
            ],
        )
    }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    forms.extend([
        Form::value::<External>(),
        Form::document::<Internal>(),
        Form::document::<Strict>(),
        Form::document::<Adjacent>(),
        Form::document::<StrictAdjacent>(),
        Form::value::<Untagged>(),
        Form::value::<PartlyExternal>(),
        Form::document::<PartlyInternal>(),
        Form::value::<PartlyAdjacent>(),
        Form::value::<ByFunction>(),
        Form::value::<Numbered>(),
        Form::value::<Vec<Internal>>(),
        Form::value::<Option<Adjacent>>(),
    ]);
}
