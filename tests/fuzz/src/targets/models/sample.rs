//! Random values of the types of fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use marula::bson::{
    Binary, BinarySubtype, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, ObjectId, Regex,
    Timestamp, Uuid as BsonUuid,
};

use crate::targets::Random;

/// A type with random values.
pub(super) trait Sample: Sized {
    /// A random value, which has a stored form.
    fn sample(random: &mut Random) -> Self;
}

/// A random value of the expected type.
pub(super) fn any<T: Sample>(random: &mut Random) -> T {
    T::sample(random)
}

/// The value of a random function.
pub(super) fn one_of<T>(random: &mut Random, of: &[fn(&mut Random) -> T]) -> T {
    let make = random.pick(of).expect("at least one function");
    make(random)
}

fn some_of<T: Sample, C: FromIterator<T>>(random: &mut Random) -> C {
    (0..random.below(4)).map(|_| any(random)).collect()
}

macro_rules! samples {
    ($($t:ty: |$random:ident| $value:expr;)*) => { $(
        impl Sample for $t {
            fn sample($random: &mut Random) -> Self {
                $value
            }
        }
    )* };
}
samples! {
    i8: |random| random.number() as i8;
    i16: |random| random.number() as i16;
    i32: |random| random.number() as i32;
    i64: |random| random.number() as i64;
    i128: |random| i128::from(any::<i64>(random)) << random.below(64);
    u8: |random| random.number() as u8;
    u16: |random| random.number() as u16;
    u32: |random| random.number() as u32;
    u64: |random| random.number() >> 1;
    u128: |random| u128::from(random.number()) << random.below(65);
    usize: |random| (random.number() >> 1) as usize;
    f32: |random| f32::from_bits(random.number() as u32);
    f64: |random| f64::from_bits(random.number());
    bool: |random| random.below(2) == 0;
    char: |random| char::from_u32(random.below(0x11_0000) as u32).unwrap_or('\0');
    (): |_random| ();
    ObjectId: |random| ObjectId::from_bytes(any(random));
    DateTime: |random| DateTime::from_millis(any(random));
    Decimal128: |random| Decimal128::from_bytes(any::<u128>(random).to_le_bytes());
    Timestamp: |random| Timestamp { time: any(random), increment: any(random) };
    uuid::Uuid: |random| uuid::Uuid::from_bytes(any(random));
    BsonUuid: |random| BsonUuid::from_bytes(any(random));
    Duration: |random| Duration::from_millis(random.number() >> 1);
    SystemTime: |random| UNIX_EPOCH + Duration::from_nanos(random.number());
    chrono::NaiveDate: |random| days(random, chrono::NaiveDate::from_num_days_from_ce_opt);
    chrono::DateTime<chrono::Utc>: |random| chrono::DateTime::from_timestamp_nanos(any(random));
    jiff::Timestamp: |random| jiff::Timestamp::from_nanosecond(any::<i64>(random).into()).expect("a time after 1677");
    jiff::civil::Date: |random| jiff::civil::date(random.below(9999) as i16, 2, 1 + random.below(28) as i8);
    time::OffsetDateTime: |random| {
        time::OffsetDateTime::from_unix_timestamp_nanos(any::<i64>(random).into()).expect("a time after 1677")
    };
    time::Date: |random| days(random, |day| time::Date::from_julian_day(day).ok());
    rust_decimal::Decimal: |random| {
        let digits = i128::from(any::<i64>(random)) << random.below(33);
        rust_decimal::Decimal::from_i128_with_scale(digits, random.below(29) as u32)
    };
    bigdecimal::BigDecimal: |random| {
        bigdecimal::BigDecimal::new(any::<i64>(random).into(), i64::from(any::<i16>(random)) / 8)
    };
}

/// A day between the years 1 and 2700, from its number.
fn days<T>(random: &mut Random, day: fn(i32) -> Option<T>) -> T {
    day(1 + random.below(1_000_000) as i32).expect("a day")
}

impl Sample for String {
    fn sample(random: &mut Random) -> Self {
        const TEXTS: [&str; 8] = [
            "",
            "a",
            "Alone",
            "12.50",
            "\0",
            "$oid",
            "é\u{1f4a9}",
            "2024-01-01T00:00:00Z",
        ];
        match random.below(3) {
            0 => some_of::<char, String>(random),
            _ => (*random.pick(&TEXTS).unwrap_or(&"")).to_owned(),
        }
    }
}

/// A key of a map, which is not the name of a field beside a flattened one.
fn key(random: &mut Random) -> String {
    const KEYS: [&str; 6] = ["", "0", "$key", "k.k", "é", "long key of a map"];
    match random.below(2) {
        0 => format!("k{}", random.below(100)),
        _ => (*random.pick(&KEYS).unwrap_or(&"")).to_owned(),
    }
}

impl Sample for IpAddr {
    fn sample(random: &mut Random) -> Self {
        one_of(
            random,
            &[
                |random| Ipv4Addr::from_bits(any(random)).into(),
                |random| Ipv6Addr::from_bits(any(random)).into(),
            ],
        )
    }
}

impl Sample for Binary {
    fn sample(random: &mut Random) -> Self {
        let subtype = BinarySubtype::from(random.number() as u8);
        Binary {
            subtype,
            bytes: any(random),
        }
    }
}

impl Sample for Regex {
    fn sample(random: &mut Random) -> Self {
        let (pattern, options) = [("^a", "i"), ("", ""), ("é$", "imsx")][random.below(3)];
        Regex {
            pattern: pattern.try_into().expect("a text without zero bytes"),
            options: options.try_into().expect("a text without zero bytes"),
        }
    }
}

impl Sample for JavaScriptCodeWithScope {
    fn sample(random: &mut Random) -> Self {
        JavaScriptCodeWithScope {
            code: any(random),
            scope: any(random),
        }
    }
}

impl Sample for Bson {
    fn sample(random: &mut Random) -> Self {
        if random.below(6) == 0 {
            return one_of(
                random,
                &[
                    |random| Bson::Document(any(random)),
                    |random| Bson::Array(any(random)),
                    |random| Bson::JavaScriptCodeWithScope(any(random)),
                ],
            );
        }
        one_of(
            random,
            &[
                |random| Bson::Double(any(random)),
                |random| Bson::String(any(random)),
                |random| Bson::Boolean(any(random)),
                |_| Bson::Null,
                |random| Bson::RegularExpression(any(random)),
                |random| Bson::JavaScriptCode(any(random)),
                |random| Bson::Int32(any(random)),
                |random| Bson::Int64(any(random)),
                |random| Bson::Timestamp(any(random)),
                |random| Bson::Binary(any(random)),
                |random| Bson::ObjectId(any(random)),
                |random| Bson::DateTime(any(random)),
                |random| Bson::Symbol(any(random)),
                |random| Bson::Decimal128(any(random)),
                |_| Bson::Undefined,
                |_| Bson::MaxKey,
                |_| Bson::MinKey,
            ],
        )
    }
}

impl Sample for Document {
    fn sample(random: &mut Random) -> Self {
        (0..random.below(3))
            .map(|_| (key(random), any::<Bson>(random)))
            .collect()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(random: &mut Random) -> Self {
        (random.below(3) != 0).then(|| any(random))
    }
}

impl<T: ?Sized> Sample for PhantomData<T> {
    fn sample(_random: &mut Random) -> Self {
        PhantomData
    }
}

impl<T: Sample, const N: usize> Sample for [T; N] {
    fn sample(random: &mut Random) -> Self {
        std::array::from_fn(|_| any(random))
    }
}

impl<T: Sample + Clone> Sample for Cow<'static, [T]> {
    fn sample(random: &mut Random) -> Self {
        Cow::Owned(any(random))
    }
}

macro_rules! containers {
    ($([$($generics:tt)*] $t:ty;)*) => { $(
        impl<$($generics)*> Sample for $t {
            fn sample(random: &mut Random) -> Self {
                some_of(random)
            }
        }
    )* };
}
containers! {
    [T: Sample] Vec<T>;
    [T: Sample] VecDeque<T>;
    [T: Sample] LinkedList<T>;
    [T: Sample] Box<[T]>;
    [T: Sample + Ord] BTreeSet<T>;
    [T: Sample + Hash + Eq, S: BuildHasher + Default] HashSet<T, S>;
}

macro_rules! pointers {
    ($($t:ident)*) => { $(
        impl<T: Sample> Sample for $t<T> {
            fn sample(random: &mut Random) -> Self {
                $t::new(any(random))
            }
        }
        impl Sample for $t<str> {
            fn sample(random: &mut Random) -> Self {
                any::<String>(random).into()
            }
        }
    )* };
}
pointers!(Box Rc Arc);

impl Sample for Cow<'static, str> {
    fn sample(random: &mut Random) -> Self {
        Cow::Owned(any(random))
    }
}

/// A type of keys of maps.
pub(super) trait SampleKey: Sized {
    /// A random key, which is not the name of a field.
    fn sample_key(random: &mut Random) -> Self;
}

impl SampleKey for String {
    fn sample_key(random: &mut Random) -> Self {
        key(random)
    }
}

impl SampleKey for Box<str> {
    fn sample_key(random: &mut Random) -> Self {
        key(random).into()
    }
}

macro_rules! keys {
    ($($t:ty)*) => { $(
        impl SampleKey for $t {
            fn sample_key(random: &mut Random) -> Self {
                any(random)
            }
        }
    )* };
}
keys!(u8 i32 i64 u64 bool uuid::Uuid BsonUuid ObjectId);

impl SampleKey for char {
    fn sample_key(random: &mut Random) -> Self {
        // A key has no zero bytes.
        Some(any(random)).filter(|key| *key != '\0').unwrap_or('0')
    }
}

impl<K: SampleKey + Ord, T: Sample> Sample for BTreeMap<K, T> {
    fn sample(random: &mut Random) -> Self {
        (0..random.below(4))
            .map(|_| (K::sample_key(random), any(random)))
            .collect()
    }
}

impl<K: SampleKey + Hash + Eq, T: Sample, S: BuildHasher + Default> Sample for HashMap<K, T, S> {
    fn sample(random: &mut Random) -> Self {
        (0..random.below(4))
            .map(|_| (K::sample_key(random), any(random)))
            .collect()
    }
}

macro_rules! tuples {
    ($(($($t:ident),*))*) => { $(
        impl<$($t: Sample),*> Sample for ($($t,)*) {
            fn sample(random: &mut Random) -> Self {
                ($(any::<$t>(random),)*)
            }
        }
    )* };
}
tuples! {
    (A)
    (A, B)
    (A, B, C)
}

/// Random values of structs, by the names of their fields.
macro_rules! structs {
    ($($name:ident $(<$($t:ident),* $(; const $n:ident: $of:ty)?>)? { $($field:tt),* })*) => { $(
        impl $(<$($t: $crate::targets::models::sample::Sample,)* $(const $n: $of)?>)? $crate::targets::models::sample::Sample
            for $name $(<$($t,)* $($n)?>)?
        {
            fn sample(_random: &mut $crate::targets::Random) -> Self {
                $name { $($field: $crate::targets::models::sample::any(_random),)* }
            }
        }
    )* };
}
pub(super) use structs;

/// Random values of enums, by functions that make their variants.
macro_rules! enums {
    ($($name:ident $(<$($t:ident),* $(; const $n:ident: $of:ty)?>)? { $($variant:expr),* $(,)? })*) => { $(
        impl $(<$($t: $crate::targets::models::sample::Sample,)* $(const $n: $of)?>)? $crate::targets::models::sample::Sample
            for $name $(<$($t,)* $($n)?>)?
        {
            fn sample(random: &mut $crate::targets::Random) -> Self {
                $crate::targets::models::sample::one_of(random, &[$($variant),*])
            }
        }
    )* };
}
pub(super) use enums;
