//! Formats numbers for the tables of the reports.

use super::statistics::Spread;

/// A median with the minimum and the maximum.
pub(super) fn spread(spread: Spread) -> String {
    let Spread { median, min, max } = spread;
    format!(
        "{} ({}–{})",
        significant(median),
        significant(min),
        significant(max)
    )
}

/// A number with two decimals below 10, one below 100 and none from 100: three significant digits
/// for numbers from 1 to 1,000.
pub(super) fn significant(value: f64) -> String {
    if value.abs() >= 100.0 {
        grouped(value)
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A number rounded to an integer, with thousands separators.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_three_significant_digits() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(-1_000.0), "-1,000");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(significant(0.1234), "0.12");
        assert_eq!(significant(12.34), "12.3");
        assert_eq!(significant(1234.5), "1,234");
    }
}
