//! The declared version of the server API ([Stable API]).
//!
//! [Stable API]:
//! https://github.com/mongodb/specifications/blob/master/source/versioned-api/versioned-api.md

/// A version of the Stable API; see [`ServerApi`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerApiVersion {
    /// `"1"` (MongoDB 5.0+).
    V1,
}

impl ServerApiVersion {
    /// The version as it is sent to the server.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1",
        }
    }
}

/// The version of the [Stable API] that the application requires. Newer servers then behave as that
/// version specifies.
///
/// The version is sent with every command, and the handshake uses `hello` instead of the legacy
/// hello. Servers before 5.0 reject the commands. The version cannot be set in a connection string,
/// and cannot be changed after the client is created.
///
/// ```
/// use marula_driver::options::{ClientOptions, ServerApi, ServerApiVersion};
/// let mut options = ClientOptions::parse("mongodb://localhost")?;
/// options.server_api = Some(ServerApi::new(ServerApiVersion::V1).with_strict(true));
/// # Ok::<(), marula_driver::Error>(())
/// ```
///
/// [Stable API]: https://www.mongodb.com/docs/manual/reference/stable-api/
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ServerApi {
    /// `apiVersion`: the version of the Stable API.
    pub version: ServerApiVersion,
    /// `apiStrict`: whether the server rejects commands that are not part of the version. Default:
    /// not sent; the server's default is `false`.
    pub strict: Option<bool>,
    /// `apiDeprecationErrors`: whether the server rejects behavior that is deprecated in the
    /// version. Default: not sent; the server's default is `false`.
    pub deprecation_errors: Option<bool>,
}

impl ServerApi {
    /// Declares this version.
    #[must_use]
    pub const fn new(version: ServerApiVersion) -> Self {
        Self {
            version,
            strict: None,
            deprecation_errors: None,
        }
    }

    /// Sets [`strict`](Self::strict).
    #[must_use]
    pub const fn with_strict(mut self, strict: bool) -> Self {
        self.strict = Some(strict);
        self
    }

    /// Sets [`deprecation_errors`](Self::deprecation_errors).
    #[must_use]
    pub const fn with_deprecation_errors(mut self, errors: bool) -> Self {
        self.deprecation_errors = Some(errors);
        self
    }
}
