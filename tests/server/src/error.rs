//! Command errors: the server's numeric codes, their names, and the reply document made of them.

use bson::{Bson, Document, doc};

/// What a command handler returns.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// A command (or one statement of a write command) that failed, in the server's terms.
#[derive(Debug, Clone)]
pub(crate) struct Error {
    /// The server's error code.
    pub(crate) code: i32,
    /// The human readable message.
    pub(crate) message: String,
    /// Labels to add; `None` lets the server decide by the code.
    pub(crate) labels: Option<Vec<String>>,
    /// Further fields of the error, such as `keyPattern`.
    pub(crate) extra: Box<Document>,
    /// When the server finds the error, which decides what it puts before the message.
    pub(crate) phase: Phase,
}

/// The phases of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// While the request is parsed.
    Parsing,
    /// While an expression without reference to a document is evaluated, before any document is read.
    Optimizing,
    /// While documents are processed.
    Executing,
}

macro_rules! codes {
    ($($constant:ident = $code:literal $name:literal;)*) => {
        /// The codes that this server returns.
        pub(crate) mod code {
            $(pub(crate) const $constant: i32 = $code;)*
        }
        fn known_name(code: i32) -> Option<&'static str> {
            match code { $($code => Some($name),)* _ => None }
        }
    };
}

codes! {
    INTERNAL_ERROR = 1 "InternalError";
    BAD_VALUE = 2 "BadValue";
    FAILED_TO_PARSE = 9 "FailedToParse";
    UNAUTHORIZED = 13 "Unauthorized";
    TYPE_MISMATCH = 14 "TypeMismatch";
    OVERFLOW = 15 "Overflow";
    PROTOCOL_ERROR = 17 "ProtocolError";
    AUTHENTICATION_FAILED = 18 "AuthenticationFailed";
    USER_NOT_FOUND = 11 "UserNotFound";
    ILLEGAL_OPERATION = 20 "IllegalOperation";
    INVALID_BSON = 22 "InvalidBSON";
    NAMESPACE_NOT_FOUND = 26 "NamespaceNotFound";
    INDEX_NOT_FOUND = 27 "IndexNotFound";
    PATH_NOT_VIABLE = 28 "PathNotViable";
    CONFLICTING_UPDATE_OPERATORS = 40 "ConflictingUpdateOperators";
    CURSOR_NOT_FOUND = 43 "CursorNotFound";
    NAMESPACE_EXISTS = 48 "NamespaceExists";
    INVALID_ID_FIELD = 53 "InvalidIdField";
    DOLLAR_PREFIXED_FIELD_NAME = 52 "DollarPrefixedFieldName";
    EMPTY_FIELD_NAME = 56 "EmptyFieldName";
    COMMAND_NOT_FOUND = 59 "CommandNotFound";
    WRITE_CONCERN_FAILED = 64 "WriteConcernFailed";
    IMMUTABLE_FIELD = 66 "ImmutableField";
    CANNOT_CREATE_INDEX = 67 "CannotCreateIndex";
    INVALID_OPTIONS = 72 "InvalidOptions";
    INVALID_NAMESPACE = 73 "InvalidNamespace";
    NO_REPLICATION_ENABLED = 76 "NoReplicationEnabled";
    INDEX_OPTIONS_CONFLICT = 85 "IndexOptionsConflict";
    INDEX_KEY_SPECS_CONFLICT = 86 "IndexKeySpecsConflict";
    NOT_SECONDARY = 95 "NotSecondary";
    UNSATISFIABLE_WRITE_CONCERN = 100 "UnsatisfiableWriteConcern";
    DOCUMENT_VALIDATION_FAILURE = 121 "DocumentValidationFailure";
    NOT_A_REPLICA_SET = 123 "NotAReplicaSet";
    COMMAND_NOT_SUPPORTED_ON_VIEW = 166 "CommandNotSupportedOnView";
    OPTION_NOT_SUPPORTED_ON_VIEW = 167 "OptionNotSupportedOnView";
    VIEW_DEPTH_LIMIT_EXCEEDED = 165 "ViewDepthLimitExceeded";
    INVALID_PIPELINE_OPERATOR = 168 "InvalidPipelineOperator";
    CANNOT_INDEX_PARALLEL_ARRAYS = 171 "CannotIndexParallelArrays";
    INVALID_INDEX_SPECIFICATION_OPTION = 197 "InvalidIndexSpecificationOption";
    ILLEGAL_OP_MSG_FLAG = 223 "IllegalOpMsgFlag";
    WRITE_CONFLICT = 112 "WriteConflict";
    CONFLICTING_OPERATION_IN_PROGRESS = 117 "ConflictingOperationInProgress";
    SNAPSHOT_UNAVAILABLE = 246 "SnapshotUnavailable";
    NO_SUCH_TRANSACTION = 251 "NoSuchTransaction";
    TRANSACTION_COMMITTED = 256 "TransactionCommitted";
    TRANSACTION_TOO_OLD = 225 "TransactionTooOld";
    NOT_IMPLEMENTED = 238 "NotImplemented";
    CONVERSION_FAILURE = 241 "ConversionFailure";
    EXCEEDED_TIME_LIMIT = 262 "ExceededTimeLimit";
    OPERATION_NOT_SUPPORTED_IN_TRANSACTION = 263 "OperationNotSupportedInTransaction";
    UNKNOWN_REPL_WRITE_CONCERN = 79 "UnknownReplWriteConcern";
    INVALID_RESUME_TOKEN = 260 "InvalidResumeToken";
    CHANGE_STREAM_FATAL_ERROR = 280 "ChangeStreamFatalError";
    CHANGE_STREAM_HISTORY_LOST = 286 "ChangeStreamHistoryLost";
    NO_MATCHING_DOCUMENT = 47 "NoMatchingDocument";
    CHECKSUM_MISMATCH = 287 "ChecksumMismatch";
    API_VERSION_ERROR = 322 "APIVersionError";
    API_STRICT_ERROR = 323 "APIStrictError";
    API_DEPRECATION_ERROR = 324 "APIDeprecationError";
    MECHANISM_UNAVAILABLE = 334 "MechanismUnavailable";
    LOAD_BALANCER_SUPPORT_MISMATCH = 354 "LoadBalancerSupportMismatch";
    CANNOT_CONVERT_INDEX_TO_UNIQUE = 359 "CannotConvertIndexToUnique";
    NOT_WRITABLE_PRIMARY = 10107 "NotWritablePrimary";
    BSON_OBJECT_TOO_LARGE = 10334 "BSONObjectTooLarge";
    DUPLICATE_KEY = 11000 "DuplicateKey";
    DATABASE_DIFFER_CASE = 13297 "DatabaseDifferCase";
    NOT_PRIMARY_NO_SECONDARY_OK = 13435 "NotPrimaryNoSecondaryOk";
    MISSING_FIELD = 40414 "IDLFailedToParse";
    UNKNOWN_FIELD = 40415 "IDLUnknownField";
}

/// Names of further codes, which fail points return or which are used in one place only.
const OTHER_NAMES: &[(i32, &str)] = &[
    (6, "HostUnreachable"),
    (7, "HostNotFound"),
    (8, "UnknownError"),
    (16, "InvalidLength"),
    (24, "LockTimeout"),
    (50, "MaxTimeMSExpired"),
    (54, "NotSingleValueField"),
    (133, "FailedToSatisfyReadPreference"),
    (136, "CappedPositionLost"),
    (175, "QueryPlanKilled"),
    (462, "IngressRequestRateLimitExceeded"),
    (89, "NetworkTimeout"),
    (91, "ShutdownInProgress"),
    (115, "CommandNotSupported"),
    (134, "ReadConcernMajorityNotAvailableYet"),
    (146, "ExceededMemoryLimit"),
    (181, "AmbiguousIndexKeyPattern"),
    (189, "PrimarySteppedDown"),
    (216, "ElectionInProgress"),
    (267, "PreparedTransactionInProgress"),
    (291, "NoQueryExecutionPlans"),
    (391, "ReauthenticationRequired"),
    (9001, "SocketException"),
    (11600, "InterruptedAtShutdown"),
    (11601, "Interrupted"),
    (11602, "InterruptedDueToReplStateChange"),
    (13436, "NotPrimaryOrSecondary"),
];

/// The name that the server gives to a code; codes without a name are called by their location.
pub(crate) fn code_name(code: i32) -> String {
    let other = || {
        OTHER_NAMES
            .iter()
            .find(|(other, _)| *other == code)
            .map(|(_, name)| *name)
    };
    known_name(code)
        .or_else(other)
        .map_or_else(|| format!("Location{code}"), str::to_owned)
}

impl Error {
    /// An error with a code and a message.
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            labels: None,
            extra: Box::default(),
            phase: Phase::Parsing,
        }
    }

    /// 2 BadValue.
    pub(crate) fn bad_value(message: impl Into<String>) -> Self {
        Error::new(code::BAD_VALUE, message)
    }

    /// 9 FailedToParse.
    pub(crate) fn failed_to_parse(message: impl Into<String>) -> Self {
        Error::new(code::FAILED_TO_PARSE, message)
    }

    /// 14 TypeMismatch.
    pub(crate) fn type_mismatch(message: impl Into<String>) -> Self {
        Error::new(code::TYPE_MISMATCH, message)
    }

    /// 238 NotImplemented: a feature of MongoDB that this server does not have.
    pub(crate) fn not_served(feature: impl std::fmt::Display) -> Self {
        Error::new(
            code::NOT_IMPLEMENTED,
            format!("{feature} is not supported by this test server"),
        )
    }

    /// Notes that the error arose while documents were processed, unless an earlier phase is known.
    pub(crate) fn executing(mut self) -> Self {
        if self.phase == Phase::Parsing {
            self.phase = Phase::Executing;
        }
        self
    }

    /// Puts what failed before the message.
    pub(crate) fn caused(mut self, context: &str) -> Self {
        self.message = format!("{context} :: caused by :: {}", self.message);
        self
    }

    /// Adds a field to the error document.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.extra.insert(name, value);
        self
    }

    /// Adds a label.
    pub(crate) fn labeled(mut self, label: &str) -> Self {
        self.labels.get_or_insert_default().push(label.to_owned());
        self
    }

    /// The reply of a failed command.
    pub(crate) fn to_reply(&self) -> Document {
        let mut reply = doc! {
            "ok": 0.0,
            "errmsg": &self.message,
            "code": self.code,
            "codeName": code_name(self.code),
        };
        reply.extend((*self.extra).clone());
        if let Some(labels) = self.labels.as_ref().filter(|labels| !labels.is_empty()) {
            reply.insert("errorLabels", labels.clone());
        }
        reply
    }

    /// The entry of a `writeErrors` array.
    pub(crate) fn to_write_error(&self, index: usize) -> Document {
        let mut error = doc! { "index": index as i32, "code": self.code };
        error.extend((*self.extra).clone());
        error.insert("errmsg", &self.message);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_known_and_unknown_codes() {
        assert_eq!(code_name(11000), "DuplicateKey");
        assert_eq!(code_name(40324), "Location40324");
    }

    #[test]
    fn extra_fields_reach_the_reply() {
        let reply = Error::new(code::DUPLICATE_KEY, "dup")
            .with("keyValue", doc! {"a": 1})
            .to_reply();
        assert_eq!(reply.get_document("keyValue").unwrap(), &doc! {"a": 1});
        assert_eq!(reply.get_i32("code").unwrap(), 11000);
    }
}
