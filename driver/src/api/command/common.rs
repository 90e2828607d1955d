//! Groups of options that several commands share, in the form of `api/command/declare.rs`. The
//! macro of a command passes its own options to the macro of the group, which appends those of the
//! group: `$crate::__query_options! { $then { $($arguments)* } … }`.

/// The options of all reads.
#[doc(hidden)]
#[macro_export]
macro_rules! __read_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__commented_read_options! { $then { $($arguments)* }
            [needs (
                4, 4, if $crate::api::command::wire::is_not_a_string, "a `comment` that is not a string"
            )]
            $($more)*
        }
    };
}

/// The options of all reads, with the version that the option `comment` needs.
#[doc(hidden)]
#[macro_export]
macro_rules! __commented_read_options {
    ($then:path { $($arguments:tt)* } [$($comment:tt)*] $($more:tt)*) => {
        $then! { { $($arguments)* }
            $($more)*
            /// `maxTimeMS`: the time limit for the operation on the server, sent in whole
            /// milliseconds (1 to 2³¹ - 1). If it expires, the server returns error 50
            /// (`MaxTimeMSExpired`). Zero disables the default limit of the cluster
            /// (`defaultMaxTimeMS`, MongoDB 8.0+). Not sent if a `timeout` (`timeoutMS`) applies: it
            /// is computed from the time left. Default: the default limit of the cluster, or no limit.
            max_time: plain std::time::Duration = "maxTimeMS";
            /// A comment that appears in the server's log, in the profiler and in `currentOp`. Any
            /// BSON type (MongoDB 4.4+; MongoDB 4.2 accepts only a string, and only for queries and
            /// aggregations). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [$($comment)*];
            /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For
            /// MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection or database.
            timeout: plain std::time::Duration;
            /// The read concern of this operation. Default: that of the collection or database. In
            /// a snapshot session, an error unless the level is `snapshot`.
            read_concern: read_concern;
            /// The read preference of this operation. Default: that of the collection or database.
            read_preference: read_preference;
            /// A feature of the operation that older servers do not have: on such a server the
            /// operation fails before it is sent. Of several, the latest version applies. Default: none.
            [driver] requires: requirement;
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
            /// The index to use, by name or by key pattern. The server rejects a hint for which
            /// there is no index. Default: the choice of the query planner.
            hint: boxed $crate::options::Hint = "hint";
            /// The collation of string comparisons. Default: the default collation of the
            /// collection.
            collation: boxed $crate::options::Collation = "collation";
        }
    };
}

/// The options of commands that change databases, collections and indexes.
macro_rules! administration_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            $($more)*
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed $crate::bson::Bson = "comment";
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection or database.
            timeout: plain std::time::Duration;
            /// The write concern of this operation. Default: that of the collection or database.
            write_concern: write_concern;
        }
    };
}
pub(crate) use administration_options;

/// The options of commands that change databases, collections and indexes, and `maxTimeMS`.
macro_rules! timed_administration_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::api::command::common::administration_options! { $then { $($arguments)* }
            $($more)*
            /// `maxTimeMS`: the time limit for the operation on the server, sent in whole
            /// milliseconds (1 to 2³¹ - 1). If it expires, the server returns error 50
            /// (`MaxTimeMSExpired`). Zero disables the default limit of the cluster
            /// (`defaultMaxTimeMS`, MongoDB 8.0+). Not sent if a `timeout` (`timeoutMS`) applies: it
            /// is computed from the time left. Default: the default limit of the cluster, or no limit.
            max_time: plain std::time::Duration = "maxTimeMS";
        }
    };
}
pub(crate) use timed_administration_options;
