//! How a search index maps a field.

use std::marker::PhantomData;

use crate::{
    base::bson::{Bson, Document, doc},
    values::search_field::{Booleans, Dates, Numbers, ObjectIds, Shapes, Strings, Uuids},
};

/// The mapping of one field in a search index, for fields of the kind `K`; see
/// [`search_field`](crate::index::search_field).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SearchMapping<K> {
    pub(super) options: Document,
    kind: PhantomData<fn() -> K>,
}

impl<K> SearchMapping<K> {
    fn of(name: &str) -> Self {
        SearchMapping {
            options: doc! { "type": name },
            kind: PhantomData,
        }
    }

    /// Sets an option of the mapping by its name in the definition, such as `analyzer` or
    /// `minGrams`. It is sent unchecked.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let mapping = SearchMapping::autocomplete().option("minGrams", 3);
    /// let index: SearchIndexDeclaration = SearchIndex::new("titles").field(&f.title(), mapping).into();
    /// assert!(index.to_string().contains(r#""minGrams": 3"#));
    /// ```
    pub fn option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value.into());
        self
    }
}

macro_rules! mappings {
    ($($kind:ident: $($(#[$doc:meta])* $method:ident $name:literal),+;)*) => { $(
        impl SearchMapping<$kind> { $(
            $(#[$doc])*
            ///
            /// ```
            #[doc = concat!("let mapping = marula::index::SearchMapping::", stringify!($method), "();")]
            /// # drop(mapping);
            /// ```
            pub fn $method() -> Self {
                Self::of($name)
            }
        )+ }
    )* };
}

mappings! {
    Strings:
        /// Text that an analyzer divides into terms.
        string "string",
        /// Text that is found by the beginnings of words.
        autocomplete "autocomplete",
        /// A text that is found, sorted and counted as a whole.
        token "token";
    Numbers:
        /// A number.
        number "number";
    Dates:
        /// A date.
        date "date";
    Booleans:
        /// A Boolean.
        boolean "boolean";
    ObjectIds:
        /// An ObjectId.
        object_id "objectId";
    Uuids:
        /// A UUID.
        uuid "uuid";
    Shapes:
        /// A GeoJSON value.
        geo "geo";
}
