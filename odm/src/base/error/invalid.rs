//! Which fields of a document are invalid.

use std::fmt;

use crate::base::error::Error;

/// A field that is invalid by `#[document(validate = garde)]` or `#[document(validate = validator)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidField {
    /// The path of the field in Rust names, as the crate reports it, such as `lines[0].qty`. Empty for the
    /// document as a whole.
    pub path: String,
    /// Why the value is invalid: the message of the crate, or, without one, the code of the check.
    pub message: String,
}

/// The source of an [`Error::Validation`] by `#[document(validate = garde)]` or
/// `#[document(validate = validator)]`.
#[derive(Debug)]
pub struct InvalidFields {
    fields: Vec<InvalidField>,
    report: Box<dyn std::error::Error + Send + Sync>,
}

impl InvalidFields {
    #[cfg(any(feature = "garde", feature = "validator"))]
    pub(crate) fn new(
        fields: Vec<InvalidField>,
        report: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let report = Box::new(report);
        InvalidFields { fields, report }
    }

    /// The fields that are invalid, in the order of their paths.
    ///
    /// ```
    /// # use marula::error::InvalidFields;
    /// fn paths(invalid: &InvalidFields) -> Vec<&str> {
    ///     invalid.fields().iter().map(|field| &*field.path).collect()
    /// }
    /// ```
    #[must_use]
    pub fn fields(&self) -> &[InvalidField] {
        &self.fields
    }

    /// The error of the crate: `garde::Report` or `validator::ValidationErrors`.
    ///
    /// ```
    /// # use marula::error::InvalidFields;
    /// fn text(invalid: &InvalidFields) -> String {
    ///     invalid.report().to_string()
    /// }
    /// ```
    #[must_use]
    pub fn report(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.report
    }
}

/// `name: length is lower than 1; lines[0].qty: greater than 100`
impl fmt::Display for InvalidFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for InvalidField { path, message } in &self.fields {
            f.write_str(separator)?;
            if !path.is_empty() {
                write!(f, "{path}: ")?;
            }
            f.write_str(message)?;
            separator = "; ";
        }
        Ok(())
    }
}

impl std::error::Error for InvalidFields {}

impl Error {
    /// The fields that are invalid, if this is an [`Error::Validation`] by
    /// `#[document(validate = garde)]` or `#[document(validate = validator)]`; otherwise empty.
    ///
    /// ```
    /// # use marula::Error;
    /// /// The messages for a form, by the paths of its fields.
    /// fn messages(error: &Error) -> Vec<(&str, &str)> {
    ///     let fields = error.invalid_fields().iter();
    ///     fields.map(|field| (&*field.path, &*field.message)).collect()
    /// }
    /// ```
    #[must_use]
    pub fn invalid_fields(&self) -> &[InvalidField] {
        match self {
            Error::Validation { source, .. } => source
                .downcast_ref::<InvalidFields>()
                .map_or(&[], InvalidFields::fields),
            Error::InvalidBulkWrite { source, .. } => source.invalid_fields(),
            _ => &[],
        }
    }
}
