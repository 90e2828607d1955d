//! `Debug` of actions, models and options: the names of fields and numbers of documents, never values, which can be personal data
//! or secrets.

use std::fmt;

use crate::bson::RawDocument;

/// The names of the fields of a document.
pub(crate) struct FieldNames<'a>(pub(crate) &'a RawDocument);

impl fmt::Debug for FieldNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map_while(Result::ok);
        f.debug_set()
            .entries(names.map(|(name, _)| name.as_str()))
            .finish()
    }
}

/// In place of a value that is set.
pub(crate) struct Hidden;

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Implements `Debug` with these fields:
/// `debug_without_values! { [T] Find<'_, T>, "Find", |find| filter: FieldNames(&find.filter) }`.
macro_rules! debug_without_values {
    ([$($parameter:ident)*] $Type:ty, $name:literal, |$it:ident| $($field:ident: $value:expr),* $(,)?) => {
        impl<$($parameter),*> ::std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $it = self;
                f.debug_struct($name)$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug_without_values;
