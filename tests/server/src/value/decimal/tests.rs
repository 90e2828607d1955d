//! Decimal arithmetic and comparison.

use super::*;

fn parsed(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn printed(value: Decimal) -> String {
    value.to_bson().to_string()
}

#[test]
fn agrees_with_the_encoding_of_the_bson_crate() {
    for text in [
        "0",
        "-1.50",
        "9.999999999999999999999999999999999E+6144",
        "1E-6176",
        "NaN",
        "-Infinity",
    ] {
        let theirs: Decimal128 = text.parse().unwrap();
        let ours = Decimal::from_bson(&theirs);
        assert_eq!(ours.to_bson().to_string(), theirs.to_string(), "{text}");
        assert_eq!(
            Decimal::parse(text).unwrap().to_bson().to_string(),
            theirs.to_string(),
            "{text}"
        );
    }
}

#[test]
fn adds_exactly_and_rounds_once() {
    assert_eq!(printed(parsed("0.1").add(parsed("0.2"))), "0.3");
    assert_eq!(printed(parsed("1.50").add(parsed("-1.5"))), "0.00");
    assert_eq!(
        printed(parsed("9999999999999999999999999999999999").add(parsed("0.5"))),
        "1.000000000000000000000000000000000E+34"
    );
    assert_eq!(
        printed(parsed("1E+100").add(parsed("1E-100"))),
        "1.000000000000000000000000000000000E+100"
    );
}

#[test]
fn multiplies_and_divides() {
    assert_eq!(printed(parsed("1.1").multiply(parsed("-2"))), "-2.2");
    assert_eq!(printed(parsed("10").divide(parsed("4"))), "2.5");
    assert_eq!(
        printed(parsed("1").divide(parsed("3"))),
        "0.3333333333333333333333333333333333"
    );
    assert_eq!(
        parsed("1").divide(parsed("0")),
        Decimal::Infinity { negative: false }
    );
    assert_eq!(
        parsed("1E+6000").multiply(parsed("1E+6000")),
        Decimal::Infinity { negative: false }
    );
}

#[test]
fn compares_across_exponents() {
    assert_eq!(parsed("1.0").compare(parsed("1")), Ordering::Equal);
    assert_eq!(parsed("-2").compare(parsed("1E-10")), Ordering::Less);
    assert_eq!(parsed("123E+5").compare(parsed("12300001")), Ordering::Less);
    assert_eq!(parsed("NaN").compare(parsed("-Infinity")), Ordering::Less);
}

#[test]
fn converts_doubles_with_the_given_precision() {
    assert_eq!(printed(Decimal::from_f64(0.1, 15)), "0.100000000000000");
    assert_eq!(
        printed(Decimal::from_f64(0.1, 34)),
        "0.1000000000000000055511151231257827"
    );
    assert_eq!(parsed("-12.9").truncate_to_i64(), Some(-12));
    assert_eq!(parsed("1E+30").truncate_to_i64(), None);
    assert_eq!(printed(Decimal::from_f64(0.5, 34)), "0.5");
    assert_eq!(printed(Decimal::from_f64(3.0, 34)), "3");
    assert_eq!(printed(Decimal::from_f64(0.0, 15)), "0");
}

#[test]
fn quantizes_to_decimal_places() {
    assert_eq!(printed(parsed("2.345").quantize(2, false)), "2.34");
    assert_eq!(printed(parsed("-2.349").quantize(2, true)), "-2.34");
    assert_eq!(printed(parsed("1.5").quantize(4, false)), "1.5000");
    assert_eq!(printed(parsed("1250").quantize(-2, false)), "1.2E+3");
    assert_eq!(printed(parsed("0").quantize(3, false)), "0.000");
    assert_eq!(parsed("1.5").quantize(40, false), Decimal::NaN);
}

#[test]
fn remainders_have_the_sign_of_the_dividend() {
    assert_eq!(printed(parsed("7.5").remainder(parsed("2"))), "1.5");
    assert_eq!(printed(parsed("-7.5").remainder(parsed("2"))), "-1.5");
    assert_eq!(printed(parsed("1E+5").remainder(parsed("7"))), "5");
    assert_eq!(parsed("1").remainder(parsed("0")), Decimal::NaN);
}
