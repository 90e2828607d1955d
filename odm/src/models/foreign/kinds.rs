//! The traits of fields for a type that is stored as a date or a decimal.

/// The traits of such a type. `$bson`: the BSON type as which the type is stored; `$forms`: the module with the conversions.
macro_rules! stored_type {
    ($t:ty, $bson:ty, $forms:ident, $schema:literal, [$($marker:ident)*]) => {
        impl $crate::values::codec::Encode for $t {
            #[inline]
            fn encode(&self, out: &mut $crate::values::codec::Writer<'_>) -> Result<(), $crate::base::bson::EncodeError> {
                match $crate::models::foreign::$forms::store(self) {
                    Ok(stored) => stored.encode(out),
                    Err(error) => Err(error.into_encode_error()),
                }
            }
            #[inline(always)]
            fn encode_field(
                &self,
                name: &'static str,
                out: &mut $crate::values::codec::Writer<'_>,
            ) -> Result<(), $crate::base::bson::EncodeError> {
                match $crate::models::foreign::$forms::store(self) {
                    Ok(stored) => stored.encode_field(name, out),
                    Err(error) => out.field(name, |_| Err(error.into_encode_error())),
                }
            }
        }
        impl<'de> $crate::values::codec::Decode<'de> for $t {
            #[inline]
            fn decode(value: &$crate::values::codec::Value<'de>) -> Result<Self, $crate::base::bson::DecodeError> {
                let stored = $crate::models::foreign::$forms::read(value)?;
                $crate::models::foreign::$forms::load(&stored).map_err($crate::base::error::ValueError::into_decode_error)
            }
        }

        impl $crate::values::codec::StoredAs<$t> for $bson {
            fn store(value: &$t) -> Result<Self, $crate::base::bson::EncodeError> {
                $crate::models::foreign::$forms::store(value).map_err($crate::base::error::ValueError::into_encode_error)
            }
            fn load(self) -> Result<$t, $crate::base::bson::DecodeError> {
                $crate::models::foreign::$forms::load(&self).map_err($crate::base::error::ValueError::into_decode_error)
            }
        }
        impl $crate::path::field::Field for $t {
            type Nav<R, M: $crate::path::Mode> = $crate::path::Path<R, $t, M>;
            fn nav<R, M: $crate::path::Mode>(path: $crate::path::Path<R, Self, M>) -> Self::Nav<R, M> {
                path
            }
            fn json_schema(_outer: &mut $crate::form::json_schema::OuterTypes) -> $crate::base::bson::Document {
                $crate::form::json_schema::types(&[$schema])
            }
        }

        $crate::models::foreign::kinds::values! {
            $t, $forms:
            $t => $t;
            &$t => $t;
            $t => $bson;
            &$t => $bson;
        }
        $crate::models::foreign::kinds::bson_values! {
            $bson => $t;
            &$bson => $t;
        }

        impl<R> $crate::term::expr::Operand<R> for $t {
            type Value = $t;
            fn into_operand(self) -> $crate::term::expr::Expr<R, $t> {
                $crate::term::expr::lit(self)
            }
        }
        $crate::models::foreign::kinds::fits! {
            $t => $bson;
            $bson => $t;
        }

        impl $crate::term::encryption::EncryptedValue for $t {
            const BSON_TYPE: &'static str = $schema;
        }
        impl $crate::models::projection::Projection<$t> for $t {}
        impl $crate::models::projection::Present for $t {}
        $(impl $crate::path::marker::$marker for $t {})*
        impl $crate::path::marker::Ordered for $t {}
        impl $crate::path::marker::KeysetKey for $t {}
        impl $crate::path::marker::IndexKey for $t {}
        impl $crate::path::marker::ListItem for $t {}
        impl $crate::path::marker::HashedKey for $t {}
    };
}

/// `#[document(as = String)]` for a type whose `Serialize` writes text.
#[cfg(any(
    feature = "bigdecimal",
    feature = "chrono",
    feature = "jiff",
    feature = "rust_decimal",
    feature = "time"
))]
macro_rules! text_form {
    ($t:ty) => {
        impl $crate::values::codec::StoredAs<$t> for String {
            fn store(value: &$t) -> Result<Self, $crate::base::bson::EncodeError> {
                match $crate::base::bson::to_bson(value)? {
                    $crate::base::bson::Bson::String(text) => Ok(text),
                    _ => Err($crate::base::bson::EncodeError::new(
                        "the value has no text",
                    )),
                }
            }
            fn load(self) -> Result<$t, $crate::base::bson::DecodeError> {
                $crate::base::bson::from_bson(&$crate::base::bson::Bson::String(self))
            }
        }
    };
}

/// Values of a type that is stored in another form, of which `$forms` has the conversions: `$of` and references to it.
macro_rules! values {
    ($of:ty, $forms:ident: $($value:ty => $field:ty;)*) => { $(
        impl $crate::values::value::IntoValue<$field> for $value {
            fn into_value(self) -> Result<$crate::base::bson::Bson, $crate::base::error::ValueError> {
                $crate::models::foreign::$forms::store::<$of>(std::borrow::Borrow::borrow(&self)).map($crate::base::bson::Bson::from)
            }
        }
        impl $crate::values::value::IntoValue<Option<$field>> for $value {
            fn into_value(self) -> Result<$crate::base::bson::Bson, $crate::base::error::ValueError> {
                $crate::models::foreign::$forms::store::<$of>(std::borrow::Borrow::borrow(&self)).map($crate::base::bson::Bson::from)
            }
        }
    )* };
}

/// BSON values for a field of another type.
macro_rules! bson_values {
    ($($value:ty => $field:ty;)*) => { $(
        impl $crate::values::value::IntoValue<$field> for $value {
            fn into_value(self) -> Result<$crate::base::bson::Bson, $crate::base::error::ValueError> {
                Ok($crate::base::bson::Bson::from(self.clone()))
            }
        }
        impl $crate::values::value::IntoValue<Option<$field>> for $value {
            fn into_value(self) -> Result<$crate::base::bson::Bson, $crate::base::error::ValueError> {
                Ok($crate::base::bson::Bson::from(self.clone()))
            }
        }
    )* };
}

/// Expressions of types with the same stored form.
macro_rules! fits {
    ($($from:ty => $to:ty;)*) => { $(
        impl $crate::term::expr::Fits<$to> for $from {}
        impl $crate::term::expr::Fits<Option<$to>> for $from {}
        impl $crate::term::expr::Fits<Option<$to>> for Option<$from> {}
    )* };
}

/// A type that is stored as a date.
macro_rules! date_type {
    ($t:ty, [$($marker:ident)*]) => {
        $crate::models::foreign::kinds::stored_type!($t, $crate::base::bson::DateTime, date, "date", [$($marker)*]);
        impl $crate::term::encryption::EqualityValue for $t {}
        impl $crate::term::encryption::RangeValue for $t {
            const HAS_FRACTION: bool = false;
        }
        impl $crate::path::marker::TtlKey for $t {}
        impl $crate::values::search_field::SearchField<$crate::values::search_field::Dates> for $t {}
        impl $crate::values::search_field::SearchField<$crate::values::search_field::Filters> for $t {}
        impl $crate::values::search_field::SearchField<$crate::values::search_field::Ranges> for $t {}
        impl $crate::path::marker::TtlKey for Vec<$t> {}
        impl $crate::term::expr::DatePart for $t {
            type With<T> = T;
        }
        impl $crate::term::expr::ToText for $t {}
    };
}

/// A type of times, which are stored as dates.
macro_rules! time_type {
    ($t:ty) => {
        $crate::models::foreign::kinds::date_type!($t, [Date]);
        #[diagnostic::do_not_recommend]
        impl $crate::models::managed::ManagedDate for $t {
            fn from_date(date: $crate::base::bson::DateTime) -> Option<Self> {
                $crate::models::foreign::date::load(&date).ok()
            }
        }
    };
}

/// A type of days, which are stored as dates at midnight in UTC.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! day_type {
    ($t:ty) => {
        $crate::models::foreign::kinds::date_type!($t, []);
    };
}

/// A type of decimals, which are stored as Decimal128. `$average`: the type of quotients.
#[cfg(any(feature = "bigdecimal", feature = "rust_decimal"))]
macro_rules! decimal_type {
    ($t:ty, average $average:ty) => {
        $crate::models::foreign::kinds::text_form!($t);
        $crate::models::foreign::kinds::stored_type!($t, $crate::base::bson::Decimal128, digits, "decimal", [Numeric]);
        impl $crate::term::expr::Number for $t {
            type Wide = $t;
            type With<T> = T;
        }
        $crate::term::expr::promote! {
            i64, $t => $t, $average;
            $t, i64 => $t, $average;
            f64, $t => $crate::base::bson::Decimal128, $crate::base::bson::Decimal128;
            $t, f64 => $crate::base::bson::Decimal128, $crate::base::bson::Decimal128;
            $crate::base::bson::Decimal128, $t => $crate::base::bson::Decimal128, $crate::base::bson::Decimal128;
            $t, $crate::base::bson::Decimal128 => $crate::base::bson::Decimal128, $crate::base::bson::Decimal128;
            $t, $t => $t, $average;
        }
        impl $crate::term::expr::Summed for $t {
            type Sum = $t;
            type Average = $average;
            fn zero() -> $crate::base::bson::Bson {
                <$crate::base::bson::Decimal128 as $crate::term::expr::Summed>::zero()
            }
            fn of_nulls(raw: $crate::term::expr::Raw) -> $crate::term::expr::Raw {
                <$crate::base::bson::Decimal128 as $crate::term::expr::Summed>::of_nulls(raw)
            }
            fn total(sum: $crate::term::expr::Raw) -> $crate::term::expr::Raw {
                <$crate::base::bson::Decimal128 as $crate::term::expr::Summed>::total(sum)
            }
        }
        impl $crate::term::expr::ToText for $t {}
        impl $crate::term::encryption::RangeValue for $t {
            const HAS_FRACTION: bool = true;
        }
        $crate::values::value::integers_as_decimals!($t);
    };
}

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub(super) use day_type;
#[cfg(any(feature = "bigdecimal", feature = "rust_decimal"))]
pub(super) use decimal_type;
#[cfg(any(
    feature = "bigdecimal",
    feature = "chrono",
    feature = "jiff",
    feature = "rust_decimal",
    feature = "time"
))]
pub(super) use text_form;
pub(super) use {bson_values, date_type, fits, stored_type, time_type, values};
