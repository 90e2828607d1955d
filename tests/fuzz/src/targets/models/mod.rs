//! The fuzz target for the codec of models: each form of the derives reads arbitrary and mutated documents.

mod documents;
mod enums;
mod flattened;
mod generics;
mod sample;
mod scalars;
mod structs;
mod tree;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use marula::Embedded;
use marula::bson::doc;
use marula::codec::{DecodeOwned, Encode, from_slice, to_vec};

use sample::{Sample, any};
use tree::Element;

use super::{Random, Target, encoded};

pub(super) const TARGET: Target = Target {
    name: "models",
    run,
    seeds,
};

/// A type whose stored form is checked.
struct Form {
    /// Reads a document. A value that is read is written, and reads to the same bytes.
    check: fn(&[u8]),
    /// The document of a random value, which reads to the same bytes.
    sample: fn(&mut Random) -> Vec<u8>,
}

impl Form {
    /// A type that is stored as a document.
    const fn document<T: Encode + DecodeOwned + Sample>() -> Self {
        Form {
            check: check::<T>,
            sample: sample::<T>,
        }
    }

    /// A type that is stored as the field of a document.
    const fn value<T: Encode + DecodeOwned + Sample>() -> Self {
        Form::document::<Field<T>>()
    }

    /// A type that is stored as the field of a document, and whose elements are in any order.
    const fn unordered<T: Encode + DecodeOwned + Sample>() -> Self {
        Form {
            check: check_unordered::<Field<T>>,
            sample: sample_unordered::<Field<T>>,
        }
    }
}

#[derive(Embedded)]
struct Field<T> {
    v: T,
}

sample::structs! {
    Field<T> { v }
}

/// All forms.
static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let mut forms = Vec::new();
    scalars::add(&mut forms);
    structs::add(&mut forms);
    generics::add(&mut forms);
    enums::add(&mut forms);
    flattened::add(&mut forms);
    documents::add(&mut forms);
    forms
});

/// A document with a value of each BSON type, of which mutations insert parts.
static VALUES: LazyLock<Vec<Element>> = LazyLock::new(|| {
    let mut random = Random::new(5);
    let values = (0..200).map(|number| (number.to_string(), any(&mut random)));
    let edges = doc! { "v": i32::MAX, "_id": i64::MIN, "kind": 2_i64.pow(53), "t": 0.5, "c": "", "number": -1.0, "k1": f64::NAN };
    tree::parse(&encoded(&edges.into_iter().chain(values).collect())).expect("a well-formed document")
});

/// How many forms read the bytes of each input.
const READERS: usize = 2;

fn run(bytes: &[u8]) {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut random = Random::new(hasher.finish());
    for _ in 0..READERS {
        if let Some(form) = random.pick(&FORMS) {
            (form.check)(bytes);
        }
    }
    let (Some(form), Some(other)) = (random.pick(&FORMS), random.pick(&FORMS)) else {
        return;
    };
    let document = (form.sample)(&mut random);
    let mut elements = tree::parse(&document).expect("a written document is well-formed");
    assert_eq!(tree::encode(&elements), document);
    match random.below(2) {
        0 => {
            let pieces =
                tree::parse(&(other.sample)(&mut random)).expect("a written document is well-formed");
            tree::mutate(&mut elements, &pieces, &mut random);
        }
        _ => tree::mutate(&mut elements, &VALUES, &mut random),
    }
    let mutated = tree::encode(&elements);
    (form.check)(&mutated);
    (other.check)(&mutated);
}

fn check<T: Encode + DecodeOwned>(bytes: &[u8]) {
    if let Some((first, second)) = rewritten::<T>(bytes) {
        assert_eq!(first, second, "{} changes its bytes", std::any::type_name::<T>());
    }
}

fn check_unordered<T: Encode + DecodeOwned>(bytes: &[u8]) {
    if let Some((first, second)) = rewritten::<T>(bytes) {
        assert_eq!(sorted(first), sorted(second), "{}", std::any::type_name::<T>());
    }
}

/// The bytes of a value that is read, and those of a value that is read from them. `None` if the bytes have another form,
/// or too many levels.
fn rewritten<T: Encode + DecodeOwned>(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let name = std::any::type_name::<T>();
    let value: T = match from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let first = match to_vec(&value) {
        Ok(first) => first,
        // More levels are read than a model can be stored with.
        Err(error) if error.message().contains("nest deeper") => return None,
        Err(error) => panic!("{name} cannot be written: {error}"),
    };
    let second = read_and_write::<T>(&first);
    Some((first, second))
}

/// Reads a document that was written by the type.
fn read_and_write<T: Encode + DecodeOwned>(written: &[u8]) -> Vec<u8> {
    let name = std::any::type_name::<T>();
    let value: T = from_slice(written).unwrap_or_else(|error| panic!("{name} cannot be read: {error}"));
    to_vec(&value).unwrap_or_else(|error| panic!("{name} cannot be written again: {error}"))
}

fn sample<T: Encode + DecodeOwned + Sample>(random: &mut Random) -> Vec<u8> {
    let written = to_vec(&any::<T>(random)).expect("a value with a stored form");
    assert_eq!(
        written,
        read_and_write::<T>(&written),
        "{}",
        std::any::type_name::<T>()
    );
    written
}

fn sample_unordered<T: Encode + DecodeOwned + Sample>(random: &mut Random) -> Vec<u8> {
    let written = to_vec(&any::<T>(random)).expect("a value with a stored form");
    let again = read_and_write::<T>(&written);
    assert_eq!(
        sorted(written.clone()),
        sorted(again),
        "{}",
        std::any::type_name::<T>()
    );
    written
}

/// The bytes of a document, of which the order of the elements has no influence.
fn sorted(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.sort_unstable();
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::new(7);
    let samples = FORMS.iter().map(|form| (form.sample)(&mut random));
    samples.chain((super::bson::TARGET.seeds)()).collect()
}
