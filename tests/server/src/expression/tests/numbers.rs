//! Numbers: sums, rounding, remainders, powers, trigonometry, bitwise operators, percentiles, and
//! the errors of their arguments.

use super::{error, eval};
use bson::{Bson, doc};

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

#[test]
fn sums_and_averages_are_compensated() {
    let tenths = vec![0.1; 10];
    assert_eq!(eval(doc! {"$sum": "$a"}, doc! {"a": tenths.clone()}), 1.0.into());
    assert_eq!(eval(doc! {"$avg": "$a"}, doc! {"a": tenths}), 0.1.into());
    assert_eq!(eval(doc! {"$sum": [1e16, 1.0, 1.0, -1e16]}, doc! {}), 2.0.into());
    // The quotient of the exact sum is rounded once.
    assert_eq!(eval(doc! {"$avg": [0.1, 0.2, 0.3]}, doc! {}), (0.6 / 3.0).into());
    assert_eq!(
        eval(doc! {"$sum": [i64::MAX, 1]}, doc! {}),
        9_223_372_036_854_775_808.0.into()
    );
    assert_eq!(
        eval(doc! {"$sum": [decimal("1.5"), 2, 0.25]}, doc! {}).to_string(),
        "3.75"
    );
    assert_eq!(
        eval(doc! {"$sum": [decimal("0"), 0.1]}, doc! {}).to_string(),
        "0.1000000000000000055511151231257827"
    );
    // `$add` adds its operands in order.
    assert_eq!(eval(doc! {"$add": [0.1, 0.2]}, doc! {}), (0.1 + 0.2).into());
    assert_eq!(
        eval(doc! {"$stdDevPop": [1, 2, 3, 4]}, doc! {}),
        1.25_f64.sqrt().into()
    );
    assert_eq!(eval(doc! {"$stdDevSamp": [5]}, doc! {}), Bson::Null);
    assert_eq!(eval(doc! {"$stdDevPop": [5, "x"]}, doc! {}), 0.0.into());
}

#[test]
fn rounding_is_exact() {
    assert_eq!(
        eval(doc! {"$round": [decimal("1.5"), 3]}, doc! {}).to_string(),
        "1.500"
    );
    assert_eq!(
        eval(doc! {"$trunc": [decimal("-1.59"), 1]}, doc! {}).to_string(),
        "-1.5"
    );
    assert_eq!(eval(doc! {"$round": [2.675, 2]}, doc! {}), 2.67.into());
    assert_eq!(eval(doc! {"$round": -0.4}, doc! {}), (-0.0).into());
    assert_eq!(eval(doc! {"$ceil": decimal("-1.5")}, doc! {}).to_string(), "-1");
    assert_eq!(eval(doc! {"$floor": decimal("-1.5")}, doc! {}).to_string(), "-2");
    assert_eq!(eval(doc! {"$round": [5, null]}, doc! {}), Bson::Null);
    assert_eq!(error(doc! {"$round": [i64::MAX, -1]}), 51080);
    assert_eq!(error(doc! {"$round": "x"}), 51081);
    assert_eq!(error(doc! {"$round": [1.0, 1.5]}), 51082);
    assert_eq!(error(doc! {"$round": [1.0, 2_147_483_648_i64]}), 51082);
    assert_eq!(error(doc! {"$trunc": [1.0, 101]}), 51083);
    assert_eq!(error(doc! {"$round": [1.0, "x"]}), 16004);
    assert_eq!(error(doc! {"$round": [1.0, f64::NAN]}), 31109);
}

#[test]
fn remainders_and_powers() {
    assert_eq!(
        eval(doc! {"$mod": [decimal("-7.5"), 2]}, doc! {}).to_string(),
        "-1.5"
    );
    assert_eq!(eval(doc! {"$mod": [i64::MIN, -1]}, doc! {}), 0_i64.into());
    assert_eq!(error(doc! {"$mod": [decimal("1"), 0]}), 5_733_415);
    assert_eq!(error(doc! {"$mod": [1, 0]}), 16610);
    assert_eq!(eval(doc! {"$pow": [-1, -3]}, doc! {}), (-1).into());
    assert_eq!(
        eval(doc! {"$pow": [2, 64]}, doc! {}),
        18_446_744_073_709_551_616.0.into()
    );
    assert_eq!(eval(doc! {"$pow": [2, -1]}, doc! {}), 0.5.into());
    assert_eq!(error(doc! {"$pow": ["x", 1]}), 28762);
    assert_eq!(error(doc! {"$pow": [1, "x"]}), 28763);
    assert_eq!(error(doc! {"$pow": [0, -1]}), 28764);
    assert_eq!(error(doc! {"$pow": [decimal("2"), 2]}), 238);
}

#[test]
fn logarithms_and_trigonometry() {
    assert_eq!(
        eval(doc! {"$log": [8, 2]}, doc! {}),
        (8_f64.ln() / 2_f64.ln()).into()
    );
    assert_eq!(eval(doc! {"$log": [null, 2]}, doc! {}), Bson::Null);
    assert_eq!(eval(doc! {"$log10": 1000}, doc! {}), 3.0.into());
    assert_eq!(eval(doc! {"$exp": 0}, doc! {}), 1.0.into());
    assert_eq!(error(doc! {"$log": [0, 2]}), 28758);
    assert_eq!(error(doc! {"$log": [10, 1]}), 28759);
    assert_eq!(error(doc! {"$log": ["x", 2]}), 28756);
    assert_eq!(error(doc! {"$log": [2, "x"]}), 28757);
    assert_eq!(eval(doc! {"$sin": 0}, doc! {}), 0.0.into());
    assert_eq!(eval(doc! {"$acos": -1}, doc! {}), std::f64::consts::PI.into());
    assert_eq!(
        eval(doc! {"$atan2": [1, 0]}, doc! {}),
        std::f64::consts::FRAC_PI_2.into()
    );
    assert_eq!(
        eval(doc! {"$degreesToRadians": 180}, doc! {}),
        std::f64::consts::PI.into()
    );
    assert_eq!(eval(doc! {"$tanh": null}, doc! {}), Bson::Null);
    assert_eq!(error(doc! {"$acos": 2}), 50989);
    assert_eq!(error(doc! {"$acosh": 0.5}), 50989);
    assert_eq!(error(doc! {"$sin": f64::INFINITY}), 50989);
    assert_eq!(error(doc! {"$sin": "x"}), 28765);
    assert_eq!(error(doc! {"$sin": decimal("1")}), 238);
}

#[test]
fn bits() {
    assert_eq!(eval(doc! {"$bitAnd": [6, 3]}, doc! {}), 2.into());
    assert_eq!(eval(doc! {"$bitOr": [6_i64, 1]}, doc! {}), 7_i64.into());
    assert_eq!(eval(doc! {"$bitXor": [-1, 1]}, doc! {}), (-2).into());
    assert_eq!(eval(doc! {"$bitAnd": []}, doc! {}), (-1).into());
    assert_eq!(eval(doc! {"$bitNot": 5}, doc! {}), (-6).into());
    assert_eq!(eval(doc! {"$bitAnd": [1, null]}, doc! {}), Bson::Null);
    assert_eq!(error(doc! {"$bitOr": [1, 1.0]}), 14);
    assert_eq!(error(doc! {"$bitNot": 1.5}), 14);
}

#[test]
fn percentiles() {
    let document = doc! {"a": [9, 1, "x", 3, 5.5, 7]};
    let on = |expression: bson::Document| eval(expression, document.clone());
    assert_eq!(
        on(doc! {"$percentile": {"input": "$a", "p": [0, 0.5, 1.0], "method": "approximate"}}),
        vec![1.0, 5.5, 9.0].into()
    );
    assert_eq!(
        on(doc! {"$median": {"input": "$a", "method": "approximate"}}),
        5.5.into()
    );
    assert_eq!(
        on(doc! {"$percentile": {"input": "$none", "p": [0.5], "method": "approximate"}}),
        vec![Bson::Null].into()
    );
    assert_eq!(
        on(doc! {"$median": {"input": 4, "method": "approximate"}}),
        4.0.into()
    );
    let percentile = |p: Bson| error(doc! {"$percentile": {"input": 1, "p": p, "method": "approximate"}});
    assert_eq!(percentile("$a".into()), 7_750_300);
    assert_eq!(percentile(Bson::Array(vec![])), 7_750_301);
    assert_eq!(percentile(vec!["x"].into()), 7_750_302);
    assert_eq!(percentile(vec![1.5].into()), 7_750_303);
    assert_eq!(error(doc! {"$median": {"input": 1, "method": "continuous"}}), 2);
    assert_eq!(error(doc! {"$median": {"input": 1}}), 40414);
    assert_eq!(
        error(doc! {"$median": {"input": 1, "method": "approximate", "p": [1]}}),
        40415
    );
}
