//! Options that several commands have. A command's list names the group and adds its own options:
//! `$crate::__query_options! { $then { $($arguments)* } … }`.

/// The options of all reads.
#[doc(hidden)]
#[macro_export]
macro_rules! __read_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            $($more)*
            /// Maximum time that the server may work on the operation, in milliseconds on the wire; beyond it, the server returns
            /// error 50 (MaxTimeMSExpired). Zero disables the cluster's default limit (`defaultMaxTimeMS`). Default: the cluster's.
            max_time: plain std::time::Duration = "maxTimeMS";
            /// A comment for the server's logs and profiler, and for `currentOp`. Default: none.
            comment: boxed $crate::bson::Bson = "comment";
            /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// The read concern of this operation. Default: that of the collection or database.
            read_concern: read_concern;
            /// The read preference of this operation. Default: that of the collection or database.
            read_preference: read_preference;
        }
    };
}

/// The options of reads that select documents.
#[doc(hidden)]
#[macro_export]
macro_rules! __query_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__read_options! { $then { $($arguments)* }
            $($more)*
            /// The index to use, by name or by keys. Default: the query planner's choice.
            hint: boxed $crate::options::Hint = "hint";
            /// The rules for comparing strings. Default: the collection's collation.
            collation: boxed $crate::options::Collation = "collation";
        }
    };
}

/// The options of commands that change databases, collections and indexes.
macro_rules! administration_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            $($more)*
            /// A comment for the server's logs and profiler, and for `currentOp`. Default: none.
            comment: boxed $crate::bson::Bson = "comment";
            /// The write concern of this operation. Default: that of the collection or database.
            write_concern: write_concern;
        }
    };
}
pub(crate) use administration_options;

/// `maxTimeMS` and the options of commands that change databases, collections and indexes.
macro_rules! timed_administration_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::api::command::common::administration_options! { $then { $($arguments)* }
            $($more)*
            /// Maximum time that the server may work on the operation, in milliseconds on the wire; beyond it, the server returns
            /// error 50 (MaxTimeMSExpired). Zero disables the cluster's default limit (`defaultMaxTimeMS`). Default: the cluster's.
            max_time: plain std::time::Duration = "maxTimeMS";
        }
    };
}
pub(crate) use timed_administration_options;
