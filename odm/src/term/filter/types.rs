//! BSON types and their aliases, for `$type`.

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $alias:literal;)*) => {
        /// A BSON type, for [`type_is`](crate::FilterOps::type_is).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum BsonType {
            $($(#[$doc])* $name,)*
        }

        impl BsonType {
            /// The alias of the type in `$type`.
            ///
            /// ```
            /// # use marula_guide::*;
            /// assert_eq!(BsonType::Int64.alias(), "long");
            /// ```
            #[must_use]
            pub fn alias(self) -> &'static str {
                match self {
                    $(BsonType::$name => $alias,)*
                }
            }
        }
    };
}

types! {
    /// A 64-bit float.
    Double = "double";
    /// A string.
    String = "string";
    /// An embedded document.
    Object = "object";
    /// An array.
    Array = "array";
    /// Binary data, including UUIDs.
    Binary = "binData";
    /// An ObjectId.
    ObjectId = "objectId";
    /// A boolean.
    Boolean = "bool";
    /// A date.
    DateTime = "date";
    /// Null.
    Null = "null";
    /// A regular expression.
    Regex = "regex";
    /// JavaScript code.
    JavaScript = "javascript";
    /// A 32-bit integer.
    Int32 = "int";
    /// An internal timestamp.
    Timestamp = "timestamp";
    /// A 64-bit integer.
    Int64 = "long";
    /// A 128-bit decimal.
    Decimal128 = "decimal";
    /// The value that is less than all others.
    MinKey = "minKey";
    /// The value that is greater than all others.
    MaxKey = "maxKey";
    /// Any of the numeric types.
    Number = "number";
}
