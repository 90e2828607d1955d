//! Command errors: MongoDB's error codes and their names, and the reply documents of failed
//! commands and statements.

use crate::violation::ViolationKind;
use bson::{Bson, Document, doc};

/// The result of a command handler.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The error of a command, or of one statement of a write command.
#[derive(Debug, Clone)]
pub(crate) struct Error {
    pub(crate) code: i32,
    /// `errmsg` in replies.
    pub(crate) message: String,
    /// Error labels; `None` for those that the server adds by code and command.
    pub(crate) labels: Option<Vec<String>>,
    /// Further fields of the error, such as `keyPattern`.
    pub(crate) extra: Box<Document>,
    /// The rule that the command violates, if no driver may send it.
    pub(crate) violation: Option<ViolationKind>,
    /// The phase in which the server detects the error, which determines the prefix of its message.
    pub(crate) phase: Phase,
}

/// The phases of query processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Parsing of the request.
    Parsing,
    /// Evaluation of expressions that do not refer to a document, before documents are read.
    Optimizing,
    /// Processing of documents.
    Executing,
}

macro_rules! codes {
    ($($constant:ident = $code:literal $name:literal;)*) => {
        /// The error codes that this server uses by name.
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
    GRAPH_CONTAINS_CYCLE = 5 "GraphContainsCycle";
    FAILED_TO_PARSE = 9 "FailedToParse";
    UNAUTHORIZED = 13 "Unauthorized";
    TYPE_MISMATCH = 14 "TypeMismatch";
    OVERFLOW = 15 "Overflow";
    PROTOCOL_ERROR = 17 "ProtocolError";
    AUTHENTICATION_FAILED = 18 "AuthenticationFailed";
    USER_NOT_FOUND = 11 "UserNotFound";
    ROLE_NOT_FOUND = 31 "RoleNotFound";
    REAUTHENTICATION_REQUIRED = 391 "ReauthenticationRequired";
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
    NOT_SECONDARY = 95 "NotSecondary";
    UNSATISFIABLE_WRITE_CONCERN = 100 "UnsatisfiableWriteConcern";
    DOCUMENT_VALIDATION_FAILURE = 121 "DocumentValidationFailure";
    NOT_A_REPLICA_SET = 123 "NotAReplicaSet";
    COMMAND_NOT_SUPPORTED_ON_VIEW = 166 "CommandNotSupportedOnView";
    OPTION_NOT_SUPPORTED_ON_VIEW = 167 "OptionNotSupportedOnView";
    VIEW_DEPTH_LIMIT_EXCEEDED = 165 "ViewDepthLimitExceeded";
    INVALID_PIPELINE_OPERATOR = 168 "InvalidPipelineOperator";
    CANNOT_INDEX_PARALLEL_ARRAYS = 171 "CannotIndexParallelArrays";
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
    INTERRUPTED = 11601 "Interrupted";
    CHECKSUM_MISMATCH = 287 "ChecksumMismatch";
    API_VERSION_ERROR = 322 "APIVersionError";
    API_STRICT_ERROR = 323 "APIStrictError";
    API_DEPRECATION_ERROR = 324 "APIDeprecationError";
    MAX_TIME_MS_EXPIRED = 50 "MaxTimeMSExpired";
    MAX_STALENESS_OUT_OF_RANGE = 160 "MaxStalenessOutOfRange";
    QUERY_PLAN_KILLED = 175 "QueryPlanKilled";
    CLIENT_METADATA_MISSING_FIELD = 183 "ClientMetadataMissingField";
    CLIENT_METADATA_APP_NAME_TOO_LARGE = 184 "ClientMetadataAppNameTooLarge";
    CLIENT_METADATA_DOCUMENT_TOO_LARGE = 185 "ClientMetadataDocumentTooLarge";
    CLIENT_METADATA_CANNOT_BE_MUTATED = 186 "ClientMetadataCannotBeMutated";
    INVALID_UUID = 207 "InvalidUUID";
    MECHANISM_UNAVAILABLE = 334 "MechanismUnavailable";
    LOAD_BALANCER_SUPPORT_MISMATCH = 354 "LoadBalancerSupportMismatch";
    NOT_WRITABLE_PRIMARY = 10107 "NotWritablePrimary";
    BSON_OBJECT_TOO_LARGE = 10334 "BSONObjectTooLarge";
    DUPLICATE_KEY = 11000 "DuplicateKey";
    DATABASE_DIFFER_CASE = 13297 "DatabaseDifferCase";
    NOT_PRIMARY_NO_SECONDARY_OK = 13435 "NotPrimaryNoSecondaryOk";
    MISSING_FIELD = 40414 "IDLFailedToParse";
    UNKNOWN_FIELD = 40415 "IDLUnknownField";
}

/// Names of further codes: those that fail points return, and those without a constant.
const OTHER_NAMES: &[(i32, &str)] = &[
    (6, "HostUnreachable"),
    (7, "HostNotFound"),
    (8, "UnknownError"),
    (16, "InvalidLength"),
    (23, "AlreadyInitialized"),
    (61, "ShardKeyNotFound"),
    (224, "QueryFeatureNotAllowed"),
    (373, "CannotDropShardKeyIndex"),
    (13113, "MergeStageNoMatchingDocument"),
    (28769, "NamespaceCannotBeSharded"),
    (24, "LockTimeout"),
    (54, "NotSingleValueField"),
    (133, "FailedToSatisfyReadPreference"),
    (136, "CappedPositionLost"),
    (462, "IngressRequestRateLimitExceeded"),
    (85, "IndexOptionsConflict"),
    (86, "IndexKeySpecsConflict"),
    (89, "NetworkTimeout"),
    (91, "ShutdownInProgress"),
    (115, "CommandNotSupported"),
    (134, "ReadConcernMajorityNotAvailableYet"),
    (146, "ExceededMemoryLimit"),
    (181, "AmbiguousIndexKeyPattern"),
    (189, "PrimarySteppedDown"),
    (197, "InvalidIndexSpecificationOption"),
    (216, "ElectionInProgress"),
    (224, "QueryFeatureNotAllowed"),
    (267, "PreparedTransactionInProgress"),
    (276, "IndexBuildAborted"),
    (291, "NoQueryExecutionPlans"),
    (359, "CannotConvertIndexToUnique"),
    (9001, "SocketException"),
    (10003, "CannotGrowDocumentInCappedNamespace"),
    (11600, "InterruptedAtShutdown"),
    (11602, "InterruptedDueToReplStateChange"),
    (12586, "BackgroundOperationInProgressForDatabase"),
    (12587, "BackgroundOperationInProgressForNamespace"),
    (13436, "NotPrimaryOrSecondary"),
];

/// The `codeName` of a code; `Location` and the number for codes without a name.
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
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            labels: None,
            extra: Box::default(),
            violation: None,
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

    /// 238 NotImplemented: a feature of MongoDB that this server does not implement.
    pub(crate) fn not_served(feature: impl std::fmt::Display) -> Self {
        Error::new(
            code::NOT_IMPLEMENTED,
            format!("{feature} is not supported by this test server"),
        )
    }

    /// Sets the phase to [`Phase::Executing`], unless it is [`Phase::Optimizing`].
    pub(crate) fn executing(mut self) -> Self {
        if self.phase == Phase::Parsing {
            self.phase = Phase::Executing;
        }
        self
    }

    /// Prefixes the message with a context, as `context :: caused by :: message`.
    pub(crate) fn caused(mut self, context: &str) -> Self {
        self.message = format!("{context} :: caused by :: {}", self.message);
        self
    }

    /// Adds a field to the error document.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.extra.insert(name, value);
        self
    }

    /// Marks the rejected command as a protocol violation.
    pub(crate) fn violating(mut self, kind: ViolationKind) -> Self {
        self.violation = Some(kind);
        self
    }

    /// Adds an error label.
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
