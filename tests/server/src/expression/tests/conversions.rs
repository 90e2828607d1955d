//! Failed conversions and their error messages.

use super::*;

fn message(expression: Document) -> String {
    let env = Env::default();
    Expression::parse(&Bson::Document(expression), &env)
        .unwrap()
        .evaluate(&doc! {}, &env)
        .unwrap_err()
        .message
}

#[test]
fn strings_that_are_not_numbers() {
    let why = |operator: &str, text: &str| {
        let message = message(doc! { operator: text });
        let lead = format!("Failed to parse number '{text}' in $convert with no onError value: ");
        message.strip_prefix(&lead).unwrap_or(&message).to_owned()
    };
    assert_eq!(why("$toInt", "4x"), "Did not consume whole string.");
    assert_eq!(why("$toInt", ""), "No digits");
    assert_eq!(why("$toInt", " 5"), "Did not consume whole string.");
    assert_eq!(why("$toInt", "2147483648"), "Overflow");
    assert_eq!(why("$toLong", "9223372036854775808"), "Overflow");
    assert_eq!(
        why("$toInt", "0x10"),
        "Illegal hexadecimal input in $convert with no onError value: 0x10"
    );
    assert_eq!(why("$toDouble", ""), "Empty string");
    assert_eq!(why("$toDouble", "x"), "Did not consume any digits");
    assert_eq!(why("$toDouble", "1_000"), "Did not consume whole string.");
    assert_eq!(why("$toDouble", " 5"), "Leading whitespace");
    assert_eq!(why("$toDouble", "1e400"), "Out of range");
    assert_eq!(why("$toDouble", "7.08263e-317"), "Out of range");
    assert_eq!(why("$toDecimal", "x"), "Failed to parse string to decimal");
    assert_eq!(why("$toDecimal", ""), "Empty string");
    assert_eq!(eval(doc! {"$toDouble": "-0X10"}, doc! {}), (-16.0).into());
    assert_eq!(eval(doc! {"$toDouble": "5."}, doc! {}), 5.0.into());
    assert_eq!(eval(doc! {"$toDouble": "0e-400"}, doc! {}), 0.0.into());
    assert_eq!(eval(doc! {"$toInt": "+007"}, doc! {}), 7.into());
}

#[test]
fn numbers_out_of_range() {
    assert_eq!(
        message(doc! {"$toInt": 1e300}),
        "Conversion would overflow target type in $convert with no onError value: 1e+300"
    );
    assert_eq!(
        message(doc! {"$toInt": 2_147_483_648_i64}),
        "Conversion would overflow target type in $convert with no onError value: "
    );
    assert_eq!(
        message(doc! {"$toLong": f64::NAN}),
        "Attempt to convert NaN value to integer type in $convert with no onError value"
    );
    let infinity: bson::Decimal128 = "Infinity".parse().unwrap();
    assert_eq!(
        message(doc! {"$toInt": infinity}),
        "Attempt to convert infinity value to integer type in $convert with no onError value"
    );
}

#[test]
fn other_conversions() {
    assert_eq!(
        message(doc! {"$toObjectId": "x"}),
        "Failed to parse objectId 'x' in $convert with no onError value: Invalid string length for parsing to OID, \
         expected 24 but found 1"
    );
    assert_eq!(
        message(doc! {"$toObjectId": "z23456789012345678901234"}),
        "Failed to parse objectId 'z23456789012345678901234' in $convert with no onError value: Invalid character \
         found in hex string: z"
    );
    assert_eq!(
        message(doc! {"$toDate": 1}),
        "Unsupported conversion from int to date in $convert with no onError value"
    );
    assert_eq!(
        message(doc! {"$convert": {"input": [1], "to": "int"}}),
        "Unsupported conversion from array to int in $convert with no onError value"
    );
}
