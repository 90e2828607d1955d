//! The names of BSON types in `$type`.

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $alias:literal;)*) => {
        /// A type that [`type_is`](crate::FilterOps::type_is) asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum BsonType {
            $($(#[$doc])* $name,)*
        }

        impl BsonType {
            /// The alias that the server knows the type by.
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
    /// Binary data, UUIDs among it.
    Binary = "binData";
    /// An ObjectId.
    ObjectId = "objectId";
    /// A boolean.
    Boolean = "bool";
    /// A date.
    DateTime = "date";
    /// A stored null.
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
    /// The smallest value.
    MinKey = "minKey";
    /// The greatest value.
    MaxKey = "maxKey";
    /// Any of the numeric types.
    Number = "number";
}
