//! Validation of documents by the derives of the crates garde and validator.

use crate::models::managed::BoxedError;

/// Documents that `validate = garde` can check.
#[cfg(not(feature = "garde"))]
#[diagnostic::on_unimplemented(
    message = "`validate = garde` needs the feature `garde` of marula",
    label = "add `features = [\"garde\"]` to the dependency `marula`"
)]
pub trait Garde {}

/// Documents that `validate = validator` can check.
#[cfg(not(feature = "validator"))]
#[diagnostic::on_unimplemented(
    message = "`validate = validator` needs the feature `validator` of marula",
    label = "add `features = [\"validator\"]` to the dependency `marula`"
)]
pub trait Validator {}

/// The check without its feature, which no document has.
///
/// # Errors
/// None.
#[cfg(not(feature = "garde"))]
pub fn validate_garde<T: Garde>(_: &T) -> Result<(), BoxedError> {
    Ok(())
}

/// The check without its feature, which no document has.
///
/// # Errors
/// None.
#[cfg(not(feature = "validator"))]
pub fn validate_validator<T: Validator>(_: &T) -> Result<(), BoxedError> {
    Ok(())
}

/// Checks a document by its `garde::Validate`, with the default context.
///
/// # Errors
/// [`InvalidFields`](crate::error::InvalidFields).
#[cfg(feature = "garde")]
pub fn validate_garde<T>(document: &T) -> Result<(), BoxedError>
where
    T: garde::Validate<Context: Default>,
{
    use crate::base::error::{InvalidField, InvalidFields};

    document.validate().map_err(|report| {
        let fields = report.iter().map(|(path, error)| InvalidField {
            path: path.to_string(),
            message: error.message().to_owned(),
        });
        let mut fields: Vec<InvalidField> = fields.collect();
        fields.sort_by(|a, b| a.path.cmp(&b.path));
        InvalidFields::new(fields, report).into()
    })
}

/// Checks a document by its `validator::Validate`.
///
/// # Errors
/// [`InvalidFields`](crate::error::InvalidFields).
#[cfg(feature = "validator")]
pub fn validate_validator<T: validator::Validate>(document: &T) -> Result<(), BoxedError> {
    use crate::base::error::InvalidFields;

    document.validate().map_err(|errors| {
        let mut fields = Vec::new();
        of_validator("", &errors, &mut fields);
        fields.sort_by(|a, b| a.path.cmp(&b.path));
        InvalidFields::new(fields, errors).into()
    })
}

#[cfg(feature = "validator")]
fn of_validator(
    prefix: &str,
    errors: &validator::ValidationErrors,
    fields: &mut Vec<crate::base::error::InvalidField>,
) {
    use validator::ValidationErrorsKind;

    for (name, kind) in errors.errors() {
        let path = if prefix.is_empty() {
            name.to_string()
        } else {
            format!("{prefix}.{name}")
        };
        match kind {
            ValidationErrorsKind::Struct(inner) => of_validator(&path, inner, fields),
            ValidationErrorsKind::List(elements) => {
                for (index, inner) in elements {
                    of_validator(&format!("{path}[{index}]"), inner, fields);
                }
            }
            ValidationErrorsKind::Field(errors) => {
                fields.extend(errors.iter().map(|error| crate::base::error::InvalidField {
                    // A check of the whole struct.
                    path: path.trim_end_matches("__all__").trim_end_matches('.').to_owned(),
                    message: match &error.message {
                        Some(message) => message.to_string(),
                        None => error.code.to_string(),
                    },
                }));
            }
        }
    }
}
