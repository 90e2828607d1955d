//! The update operators, and what they do.

/// Whether an operator decides its field in a document that an upsert inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// The operator decides it.
    Decided,
    /// The operator changes only a stored field: an inserted document would lack it.
    Lacking,
}

/// When the server applies an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    /// Only if an upsert inserts the document.
    OnInsert,
}

/// Whether an operator can be applied to a document that contains an encrypted field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AroundEncrypted {
    /// It sets or removes the whole document.
    Allowed,
    Refused,
}

/// The answers of an operator to all questions. Without one of them the table does not compile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) inserted: Inserted,
    pub(crate) when: When,
    pub(crate) around_encrypted: AroundEncrypted,
}

macro_rules! operators {
    ($($name:ident = $sent:literal: $inserted:ident, $when:ident, $around:ident;)*) => {
        /// An update operator.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum Operator {
            $($name,)*
            /// An operator of the application that is not one of these.
            Other(Box<str>),
        }

        impl Operator {
            /// The operator with this name.
            pub(crate) fn named(name: &str) -> Self {
                match name {
                    $($sent => Operator::$name,)*
                    other => Operator::Other(other.into()),
                }
            }

            /// The name.
            pub(crate) fn sent(&self) -> &str {
                match self {
                    $(Operator::$name => $sent,)*
                    Operator::Other(name) => name,
                }
            }

            pub(crate) fn row(&self) -> Row {
                match self {
                    $(Operator::$name => Row {
                        inserted: Inserted::$inserted,
                        when: When::$when,
                        around_encrypted: AroundEncrypted::$around,
                    },)*
                    Operator::Other(_) => Row {
                        inserted: Inserted::Decided,
                        when: When::Always,
                        around_encrypted: AroundEncrypted::Refused,
                    },
                }
            }
        }
    };
}

operators! {
    // name = what is sent: of an inserted document, when, on a document around an encrypted field;
    Set = "$set": Decided, Always, Allowed;
    SetOnInsert = "$setOnInsert": Decided, OnInsert, Allowed;
    Unset = "$unset": Decided, Always, Allowed;
    Inc = "$inc": Decided, Always, Refused;
    Mul = "$mul": Decided, Always, Refused;
    Min = "$min": Decided, Always, Refused;
    Max = "$max": Decided, Always, Refused;
    CurrentDate = "$currentDate": Decided, Always, Refused;
    Rename = "$rename": Lacking, Always, Refused;
    Bit = "$bit": Decided, Always, Refused;
    Push = "$push": Decided, Always, Refused;
    AddToSet = "$addToSet": Decided, Always, Refused;
    Pull = "$pull": Lacking, Always, Refused;
    PullAll = "$pullAll": Lacking, Always, Refused;
    Pop = "$pop": Lacking, Always, Refused;
}
