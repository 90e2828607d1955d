//! Types with type and constant parameters.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use marula::Embedded;
use marula::bson::{DateTime, ObjectId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Form, Random, Sample, any, sample};

#[derive(Embedded)]
struct Id<T>(ObjectId, PhantomData<fn() -> T>);

#[derive(Embedded)]
struct Wrapper<T>(T);

#[derive(Embedded)]
struct Page<T> {
    items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<T>,
    last: Option<T>,
    #[serde(skip)]
    of: PhantomData<T>,
}

#[derive(Embedded)]
struct Grid<T, const N: usize> {
    cells: [T; N],
}

#[derive(Embedded)]
struct Row<const N: usize>([i32; N]);

#[derive(Embedded)]
struct Marker<const N: u8>;

#[derive(Embedded)]
#[serde(bound(serialize = "", deserialize = ""))]
struct Bounded<T: Serialize + DeserializeOwned> {
    number: i32,
    #[serde(skip)]
    of: PhantomData<T>,
}

#[derive(Embedded)]
struct Around<T> {
    #[serde(flatten)]
    inner: T,
    more: i32,
}

#[derive(Clone, Embedded)]
#[serde(from = "Vec<T>", into = "Vec<T>")]
struct Converted<T: Clone> {
    items: Vec<T>,
}

impl<T: Clone> From<Vec<T>> for Converted<T> {
    fn from(items: Vec<T>) -> Self {
        Converted { items }
    }
}

impl<T: Clone> From<Converted<T>> for Vec<T> {
    fn from(converted: Converted<T>) -> Self {
        converted.items
    }
}

#[derive(Embedded)]
#[serde(default)]
struct Tree<T> {
    value: T,
    children: Vec<Tree<T>>,
    text: Cow<'static, str>,
}

impl<T: Default> Default for Tree<T> {
    fn default() -> Self {
        Tree {
            value: T::default(),
            children: Vec::new(),
            text: "x".into(),
        }
    }
}

impl<T: Sample> Sample for Tree<T> {
    fn sample(random: &mut Random) -> Self {
        let has_children = random.below(3) == 0;
        Tree {
            value: any(random),
            children: if has_children { any(random) } else { Vec::new() },
            text: any(random),
        }
    }
}

#[derive(Embedded)]
enum Level<const N: u8> {
    Low,
    High,
}

macro_rules! change {
    ($name:ident $(, #[$serde:meta])?) => {
        #[derive(Embedded)]
        $(#[$serde])?
        enum $name<T, const N: u8> {
            To { value: T, level: Level<N> },
            Wrapped(Page<T>),
            None,
        }

        sample::enums! {
            $name<T; const N: u8> {
                |random| $name::To { value: any(random), level: any(random) },
                |random| $name::Wrapped(any(random)),
                |_| $name::None,
            }
        }
    };
}
change!(External);
change!(Internal, #[serde(tag = "kind")]);
change!(Adjacent, #[serde(tag = "kind", content = "content")]);
change!(Untagged, #[serde(untagged)]);

sample::structs! {
    Wrapper<T> { 0 }
    Page<T> { items, first, last, of }
    Grid<T; const N: usize> { cells }
    Around<T> { inner, more }
}

impl<T> Sample for Id<T> {
    fn sample(random: &mut Random) -> Self {
        Id(any(random), PhantomData)
    }
}

impl<const N: usize> Sample for Row<N> {
    fn sample(random: &mut Random) -> Self {
        Row(any(random))
    }
}

impl<const N: u8> Sample for Marker<N> {
    fn sample(_random: &mut Random) -> Self {
        Marker
    }
}

impl<const N: u8> Sample for Level<N> {
    fn sample(random: &mut Random) -> Self {
        sample::one_of(random, &[|_| Level::Low, |_| Level::High])
    }
}

impl<T: Serialize + DeserializeOwned> Sample for Bounded<T> {
    fn sample(random: &mut Random) -> Self {
        Bounded {
            number: any(random),
            of: PhantomData,
        }
    }
}

impl<T: Sample + Clone> Sample for Converted<T> {
    fn sample(random: &mut Random) -> Self {
        Converted { items: any(random) }
    }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    forms.extend([
        Form::value::<Id<()>>(),
        Form::value::<Wrapper<Option<Wrapper<DateTime>>>>(),
        Form::document::<Wrapper<BTreeMap<i32, Rc<i64>>>>(),
        Form::document::<Page<Arc<chrono::NaiveDate>>>(),
        Form::document::<Page<Vec<u8>>>(),
        Form::document::<Grid<Row<2>, 3>>(),
        Form::value::<Marker<1>>(),
        Form::document::<Bounded<String>>(),
        Form::document::<Around<Page<rust_decimal::Decimal>>>(),
        Form::document::<Around<Rc<BTreeMap<String, DateTime>>>>(),
        Form::document::<Around<Option<Page<bool>>>>(),
        Form::document::<Around<BTreeMap<u64, i32>>>(),
        Form::value::<Converted<ObjectId>>(),
        Form::document::<Tree<i64>>(),
        Form::value::<External<DateTime, 1>>(),
        Form::document::<Internal<Wrapper<i32>, 1>>(),
        Form::document::<Adjacent<Vec<Id<()>>, 1>>(),
        Form::value::<Untagged<Page<i64>, 1>>(),
    ]);
}
