//! The version of the server's interface that an application declares (Stable API specification).

/// A version of the Stable API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerApiVersion {
    /// `"1"`, known to servers from 5.0 on.
    V1,
}

impl ServerApiVersion {
    /// As commands carry it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1",
        }
    }
}

/// The version of the server's interface that the application is written for: a newer server then behaves as that version
/// says (Stable API).
///
/// A client with a declared version sends it with every command, and greets servers with `hello` alone; servers that do not
/// know it (before 5.0) refuse the commands. It cannot be named in a connection string, and nothing changes it once the
/// client is made.
///
/// ```
/// use marula_driver::options::{ClientOptions, ServerApi, ServerApiVersion};
/// let mut options = ClientOptions::parse("mongodb://localhost")?;
/// options.server_api = Some(ServerApi::new(ServerApiVersion::V1).with_strict(true));
/// # Ok::<(), marula_driver::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ServerApi {
    /// `apiVersion`
    pub version: ServerApiVersion,
    /// `apiStrict`: whether the server refuses commands that are no part of the version. Default: the server's, which does
    /// not. Sent when set, also as false.
    pub strict: Option<bool>,
    /// `apiDeprecationErrors`: whether the server refuses what the version deprecates. Default: the server's, which does
    /// not. Sent when set, also as false.
    pub deprecation_errors: Option<bool>,
}

impl ServerApi {
    /// Declares a version.
    #[must_use]
    pub const fn new(version: ServerApiVersion) -> Self {
        Self {
            version,
            strict: None,
            deprecation_errors: None,
        }
    }

    /// Whether the server refuses commands that are no part of the version.
    #[must_use]
    pub const fn with_strict(mut self, strict: bool) -> Self {
        self.strict = Some(strict);
        self
    }

    /// Whether the server refuses what the version deprecates.
    #[must_use]
    pub const fn with_deprecation_errors(mut self, errors: bool) -> Self {
        self.deprecation_errors = Some(errors);
        self
    }
}
