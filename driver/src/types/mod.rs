//! Values that all layers use: addresses, namespaces, concerns, read preferences, deadlines,
//! secrets, results of writes.

pub(crate) mod address;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
pub(crate) mod aws_credentials;
pub(crate) mod cancellation;
pub(crate) mod change_stream;
pub(crate) mod collation;
pub(crate) mod compressor;
pub(crate) mod concern;
pub(crate) mod cursor_type;
pub(crate) mod deadline;
pub(crate) mod driver_info;
pub(crate) mod explain_verbosity;
pub(crate) mod hint;
pub(crate) mod host_pattern;
pub(crate) mod in_flight;
pub(crate) mod late_replies;
pub(crate) mod lock;
pub(crate) mod namespace;
pub(crate) mod panics;
pub(crate) mod read_preference;
pub(crate) mod resume_token;
pub(crate) mod return_document;
pub(crate) mod secret;
pub(crate) mod server_api;
pub(crate) mod server_requirement;
pub(crate) mod server_version;
pub(crate) mod stored_fields;
pub(crate) mod text;
pub(crate) mod timeout;
pub(crate) mod timeout_mode;
pub(crate) mod transaction_options;
pub(crate) mod variables;
pub(crate) mod write_result;
