//! Arithmetic, rounding, trigonometry, bits and conversions of numbers.

use std::ops::{Add, Div, Mul, Sub};

use crate::{
    base::bson::{Bson, Decimal128, doc},
    path::{AsPath, Path, Wrapped, marker::Integer},
    term::expr::{Expr, Operand, Raw, Single, call},
};

/// Types of numbers, and `Option`s of them.
#[diagnostic::on_unimplemented(
    message = "arithmetic needs numbers, found `{Self}`",
    label = "`{Self}` is not a number"
)]
pub trait Number {
    /// The type of calculations with this number alone: `i64`, `f64` or `Decimal128`, in an
    /// `Option` if the number is in one.
    type Wide;
    /// `T`, in an `Option` if the number is in one.
    type With<T>;
}

/// Types of numbers that are neither decimals nor null, of which a function computes a Double.
#[diagnostic::on_unimplemented(
    message = "this function needs numbers that are not decimals and never null, found `{Self}`",
    label = "expected an integer or a floating point number",
    note = "for an `Option` use `if_null(value, default)`, for a decimal `to_double(value)`"
)]
pub trait PlainNumber {}

macro_rules! plain_numbers {
    ($($t:ty)*) => { $( impl PlainNumber for $t {} )* };
}
plain_numbers! { i8 i16 i32 i64 u8 u16 u32 u64 usize f32 f64 }

macro_rules! numbers {
    ($($wide:ty: $($t:ty)*;)*) => { $($(
        impl Number for $t {
            type Wide = $wide;
            type With<T> = T;
        }
    )*)* };
}
numbers! {
    i64: i8 i16 i32 i64 u8 u16 u32 u64 usize;
    f64: f32 f64;
    Decimal128: Decimal128;
}

impl<N: Number> Number for Option<N> {
    type Wide = Option<N::Wide>;
    type With<T> = Option<T>;
}

/// Types of a calculation with two numbers.
#[diagnostic::on_unimplemented(
    message = "the server cannot calculate with a `{Self}` and a `{B}`",
    label = "arithmetic needs two numbers"
)]
pub trait Promote<B> {
    /// The type of `+`, `-`, `*` and [`modulo`].
    type Out;
    /// The type of `/`, which is never an integer.
    type Quotient;
}

macro_rules! promote {
    ($($a:ty, $b:ty => $out:ty, $quotient:ty;)*) => { $(
        impl $crate::term::expr::Promote<$b> for $a {
            type Out = $out;
            type Quotient = $quotient;
        }
        impl $crate::term::expr::Promote<Option<$b>> for $a {
            type Out = Option<$out>;
            type Quotient = Option<$quotient>;
        }
        impl $crate::term::expr::Promote<$b> for Option<$a> {
            type Out = Option<$out>;
            type Quotient = Option<$quotient>;
        }
        impl $crate::term::expr::Promote<Option<$b>> for Option<$a> {
            type Out = Option<$out>;
            type Quotient = Option<$quotient>;
        }
    )* };
}
#[cfg(any(feature = "bigdecimal", feature = "rust_decimal"))]
pub(crate) use promote;
promote! {
    i64, i64 => i64, f64;
    i64, f64 => f64, f64;
    f64, i64 => f64, f64;
    f64, f64 => f64, f64;
    i64, Decimal128 => Decimal128, Decimal128;
    Decimal128, i64 => Decimal128, Decimal128;
    f64, Decimal128 => Decimal128, Decimal128;
    Decimal128, f64 => Decimal128, Decimal128;
    Decimal128, Decimal128 => Decimal128, Decimal128;
}

type Wide<T> = <T as Number>::Wide;
/// The type of the sum, the difference and the product of an `A` and a `B`.
pub type Total<A, B> = <Wide<A> as Promote<Wide<B>>>::Out;
/// The type of the quotient of an `A` and a `B`.
pub type Quotient<A, B> = <Wide<A> as Promote<Wide<B>>>::Quotient;

macro_rules! operators {
    ($($trait:ident $method:ident $operator:literal $out:ident;)*) => { $(
        operators!(@one [R, T] Expr<R, T>, R, T; $trait $method $operator $out);
        operators!(@one [R, T, M: Single] Path<R, T, M>, R, M::Of<T>; $trait $method $operator $out);
        operators!(@one [V, N: AsPath, M: Single] Wrapped<V, N, M>, N::Root, M::Of<V>; $trait $method $operator $out);
    )* };
    (@one [$($generics:tt)*] $self:ty, $root:ty, $value:ty; $trait:ident $method:ident $operator:literal $out:ident) => {
        impl<$($generics)*, B: Operand<$root>> $trait<B> for $self
        where
            $value: Number,
            B::Value: Number,
            Wide<$value>: Promote<Wide<B::Value>>,
        {
            type Output = Expr<$root, $out<$value, B::Value>>;
            fn $method(self, other: B) -> Self::Output {
                call($operator, [Operand::<$root>::into_operand(self).into_raw(), other.into_operand().into_raw()])
            }
        }
    };
}
operators! {
    Add add "$add" Total;
    Sub sub "$subtract" Total;
    Mul mul "$multiply" Total;
    Div div "$divide" Quotient;
}

/// The remainder of a division (`$mod`), with the sign of `a`. Fails on the server if `b` is 0.
///
/// ```
/// # use marula::expr::{lit, modulo};
/// assert_eq!(modulo(lit::<(), i32>(7), 2).to_string(), r#"{"$mod": [7, 2]}"#);
/// ```
#[doc(alias = "$mod")]
pub fn modulo<R, A: Operand<R>, B: Operand<R>>(a: A, b: B) -> Expr<R, Total<A::Value, B::Value>>
where
    A::Value: Number<Wide: Promote<Wide<B::Value>>>,
    B::Value: Number,
{
    call("$mod", [a.into_operand().into_raw(), b.into_operand().into_raw()])
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $operator:literal $example:literal [$($bound:tt)*] $out:ty;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), f64>(2.5));")]
        #[doc = concat!("assert_eq!(value.to_string(), r#\"", $example, "\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R>>(number: A) -> Expr<R, $out>
        where
            A::Value: $($bound)*,
        {
            call($operator, [number.into_operand().into_raw()])
        }
    )* };
}
functions! {
    /// The absolute value (`$abs`).
    abs "$abs" r#"{"$abs": 2.5}"# [Number] Wide<A::Value>;
    /// The smallest integral number that is not less (`$ceil`).
    ceil "$ceil" r#"{"$ceil": 2.5}"# [Number] Wide<A::Value>;
    /// The greatest integral number that is not greater (`$floor`).
    floor "$floor" r#"{"$floor": 2.5}"# [Number] Wide<A::Value>;
    /// The square root (`$sqrt`). Fails on the server for a negative number.
    sqrt "$sqrt" r#"{"$sqrt": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The natural logarithm (`$ln`). Fails on the server for a number that is not positive.
    ln "$ln" r#"{"$ln": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// e raised to the number (`$exp`).
    exp "$exp" r#"{"$exp": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The decimal logarithm (`$log10`). Fails on the server for a number that is not positive.
    log10 "$log10" r#"{"$log10": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The sigmoid function, 1 / (1 + e⁻ˣ) (`$sigmoid`, MongoDB 8.1+).
    sigmoid "$sigmoid" r#"{"$sigmoid": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The sine of an angle in radians (`$sin`).
    sin "$sin" r#"{"$sin": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The cosine of an angle in radians (`$cos`).
    cos "$cos" r#"{"$cos": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The tangent of an angle in radians (`$tan`).
    tan "$tan" r#"{"$tan": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The arcsine in radians (`$asin`). Fails on the server for a number outside of -1 to 1.
    asin "$asin" r#"{"$asin": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The arccosine in radians (`$acos`). Fails on the server for a number outside of -1 to 1.
    acos "$acos" r#"{"$acos": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The arctangent in radians (`$atan`).
    atan "$atan" r#"{"$atan": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The hyperbolic sine (`$sinh`).
    sinh "$sinh" r#"{"$sinh": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The hyperbolic cosine (`$cosh`).
    cosh "$cosh" r#"{"$cosh": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The hyperbolic tangent (`$tanh`).
    tanh "$tanh" r#"{"$tanh": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The inverse hyperbolic sine (`$asinh`).
    asinh "$asinh" r#"{"$asinh": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The inverse hyperbolic cosine (`$acosh`). Fails on the server for a number less than 1.
    acosh "$acosh" r#"{"$acosh": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// The inverse hyperbolic tangent (`$atanh`). Fails on the server for a number outside of -1 to 1.
    atanh "$atanh" r#"{"$atanh": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// An angle in degrees as radians (`$degreesToRadians`).
    to_radians "$degreesToRadians" r#"{"$degreesToRadians": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// An angle in radians as degrees (`$radiansToDegrees`).
    to_degrees "$radiansToDegrees" r#"{"$radiansToDegrees": 2.5}"# [Number<Wide: Promote<Wide<A::Value>>>] Quotient<A::Value, A::Value>;
    /// Whether the number is not 0 (`$toBool`).
    to_bool "$toBool" r#"{"$toBool": 2.5}"# [Number] <A::Value as Number>::With<bool>;
    /// The number as an Int32, truncated (`$toInt`). Fails on the server if it is out of range.
    to_int "$toInt" r#"{"$toInt": 2.5}"# [Number] <A::Value as Number>::With<i32>;
    /// The number as an Int64, truncated (`$toLong`). Fails on the server if it is out of range.
    to_long "$toLong" r#"{"$toLong": 2.5}"# [Number] <A::Value as Number>::With<i64>;
    /// The number as a Double (`$toDouble`).
    to_double "$toDouble" r#"{"$toDouble": 2.5}"# [Number] <A::Value as Number>::With<f64>;
    /// The number as a Decimal128 (`$toDecimal`).
    to_decimal "$toDecimal" r#"{"$toDecimal": 2.5}"# [Number] <A::Value as Number>::With<Decimal128>;
}

fn places<R, T>(operator: &str, number: Raw, places: i8) -> Expr<R, T> {
    call(operator, [number, Ok(Bson::Int32(places.into()))])
}

/// The number rounded to a number of decimal places, half to even (`$round`). Negative places round
/// to tens, hundreds and so on; the server accepts -20 to 100.
///
/// ```
/// # use marula::expr::{lit, round};
/// assert_eq!(round(lit::<(), f64>(2.55), 1).to_string(), r#"{"$round": [2.55, 1]}"#);
/// ```
#[doc(alias = "$round")]
pub fn round<R, A: Operand<R, Value: Number>>(number: A, decimals: i8) -> Expr<R, Wide<A::Value>> {
    places("$round", number.into_operand().into_raw(), decimals)
}

/// The number truncated to a number of decimal places (`$trunc`), see [`round`].
///
/// ```
/// # use marula::expr::{lit, trunc};
/// assert_eq!(trunc(lit::<(), f64>(2.55), 1).to_string(), r#"{"$trunc": [2.55, 1]}"#);
/// ```
#[doc(alias = "$trunc")]
pub fn trunc<R, A: Operand<R, Value: Number>>(number: A, decimals: i8) -> Expr<R, Wide<A::Value>> {
    places("$trunc", number.into_operand().into_raw(), decimals)
}

/// A number raised to a power (`$pow`). An integer raised to a negative power is not an integer,
/// which is then a decode error: convert it with [`to_double`] first.
///
/// ```
/// # use marula::expr::{lit, pow};
/// assert_eq!(pow(lit::<(), f64>(2.5), 2).to_string(), r#"{"$pow": [2.5, 2]}"#);
/// ```
#[doc(alias = "$pow")]
pub fn pow<R, A: Operand<R>, B: Operand<R>>(number: A, exponent: B) -> Expr<R, Total<A::Value, B::Value>>
where
    A::Value: Number<Wide: Promote<Wide<B::Value>>>,
    B::Value: Number<With<()> = ()>,
{
    call(
        "$pow",
        [
            number.into_operand().into_raw(),
            exponent.into_operand().into_raw(),
        ],
    )
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident $operator:literal [$($bound:tt)*] $out:ident;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), i32>(6), 3);")]
        #[doc = concat!("assert_eq!(value.to_string(), r#\"{\"", $operator, "\": [6, 3]}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R>, B: Operand<R>>(a: A, b: B) -> Expr<R, $out<A::Value, B::Value>>
        where
            A::Value: $($bound)* + Number<Wide: Promote<Wide<B::Value>>>,
            B::Value: $($bound)* + Number,
        {
            call($operator, [a.into_operand().into_raw(), b.into_operand().into_raw()])
        }
    )* };
}
pairs! {
    /// The logarithm of `a` to the base `b` (`$log`). Fails on the server unless `a` is positive, and `b` positive and
    /// not 1.
    log "$log" [Sized] Quotient;
    /// The arctangent of `a / b` in radians, of the point at `b` and `a` (`$atan2`).
    atan2 "$atan2" [Sized] Quotient;
    /// The bits that both integers have (`$bitAnd`, MongoDB 6.3+).
    bit_and "$bitAnd" [Integer] Total;
    /// The bits that at least one of two integers has (`$bitOr`, MongoDB 6.3+).
    bit_or "$bitOr" [Integer] Total;
    /// The bits that exactly one of two integers has (`$bitXor`, MongoDB 6.3+).
    bit_xor "$bitXor" [Integer] Total;
}

/// The inverted bits of an integer (`$bitNot`, MongoDB 6.3+).
///
/// ```
/// # use marula::expr::{bit_not, lit};
/// assert_eq!(bit_not(lit::<(), i32>(5)).to_string(), r#"{"$bitNot": 5}"#);
/// ```
#[doc(alias = "$bitNot")]
pub fn bit_not<R, A: Operand<R, Value: Integer + Number>>(number: A) -> Expr<R, Wide<A::Value>> {
    call("$bitNot", [number.into_operand().into_raw()])
}

/// A random number from 0 to less than 1, another one for each document (`$rand`, MongoDB 4.4+).
///
/// ```
/// assert_eq!(marula::expr::random::<()>().to_string(), r#"{"$rand": {}}"#);
/// ```
#[doc(alias = "$rand")]
pub fn random<R>() -> Expr<R, f64> {
    Expr::unchecked(doc! { "$rand": {} })
}
