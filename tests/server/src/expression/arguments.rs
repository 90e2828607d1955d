//! Errors of operators with a wrong number of arguments or with malformed named arguments.

use super::{Expression, Function};
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::refusal::queries;

/// Returns an error if the number of arguments is not one that the operator accepts.
pub(super) fn check_arity(function: &Function, given: usize) -> Result<()> {
    if (function.min..=function.max).contains(&given) {
        return Ok(());
    }
    let (name, min, max) = (function.name, function.min, function.max);
    let converts = name.starts_with("$to") && !matches!(name, "$toUpper" | "$toLower");
    Err(if converts {
        Error::new(50723, format!("{name} requires a single argument, got {given}"))
    } else if min == max {
        Error::new(
            16020,
            format!("Expression {name} takes exactly {min} arguments. {given} were passed in."),
        )
    } else {
        Error::new(
            28667,
            format!(
                "Expression {name} takes at least {min} arguments, and at most {max}, but {given} were passed in."
            ),
        )
    })
}

/// Error codes of the malformed arguments of a [`super::NamedFunction`].
pub(super) struct ArgumentCodes {
    pub(super) not_an_object: i32,
    pub(super) unknown: i32,
    /// One code per required argument.
    pub(super) missing: &'static [(&'static str, i32)],
}

impl ArgumentCodes {
    pub(super) fn of(operator: &str) -> ArgumentCodes {
        let (not_an_object, unknown, missing): (i32, i32, &[(&str, i32)]) = match operator {
            "$firstN" | "$lastN" => (5_787_801, 5_787_901, &[("n", 5_787_906), ("input", 5_787_907)]),
            "$minN" | "$maxN" => (5_787_900, 5_787_901, &[("n", 5_787_906), ("input", 5_787_907)]),
            "$trim" | "$ltrim" | "$rtrim" => (50696, 50694, &[("input", 50695)]),
            "$zip" => (34460, 34464, &[("inputs", 34465)]),
            "$dateToString" => (18629, 18534, &[("date", 18628)]),
            "$dateFromString" => (40540, 40541, &[("dateString", 40542)]),
            "$dateToParts" => (40524, 40520, &[("date", 40522)]),
            "$dateFromParts" => (40519, 40518, &[]),
            "$getField" => (
                code::FAILED_TO_PARSE,
                3_041_701,
                &[("field", 3_041_702), ("input", 3_041_703)],
            ),
            "$sortArray" => (
                2_942_500,
                2_942_501,
                &[("input", 2_942_502), ("sortBy", 2_942_503)],
            ),
            "$regexMatch" | "$regexFind" | "$regexFindAll" => {
                (51103, 31024, &[("input", 31022), ("regex", 31023)])
            }
            "$replaceOne" | "$replaceAll" => (
                51751,
                51750,
                &[("input", 51749), ("find", 51748), ("replacement", 51747)],
            ),
            _ => (code::FAILED_TO_PARSE, code::FAILED_TO_PARSE, &[]),
        };
        ArgumentCodes {
            not_an_object,
            unknown,
            missing,
        }
    }
}

/// Fails if `field` of `$getField`, `$setField` or `$unsetField` is not a constant and must be one.
pub(super) fn check_field_name(
    operator: &str,
    arguments: &[(&'static str, Expression)],
    env: &Env,
) -> Result<()> {
    let (path_row, constant_row) = match operator {
        "$getField" => (&queries::GET_FIELD_PATH, &queries::GET_FIELD_CONSTANT),
        "$setField" | "$unsetField" => (&queries::SET_FIELD_PATH, &queries::SET_FIELD_CONSTANT),
        _ => return Ok(()),
    };
    for (_, value) in arguments.iter().filter(|(name, _)| *name == "field") {
        if let Expression::Path(variable, parts) = value {
            let prefix = if variable == "CURRENT" {
                "$".to_owned()
            } else {
                format!("$${variable}.")
            };
            let path = format!("{prefix}{}", parts.join("."));
            path_row.check(env.profile, true, &[&path, &path])?;
        }
        constant_row.check(env.profile, !value.is_constant(), &[&operator])?;
    }
    Ok(())
}
