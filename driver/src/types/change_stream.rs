//! Which documents a change stream adds to its events.

/// The values of `fullDocument`: when an update event contains the document after the change. Insert
/// and replace events always contain it.
///
/// Created from a string, e.g. by `.full_document("updateLookup")`; a value that is not known here
/// is sent to the server as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullDocument {
    /// `default`: never.
    Default,
    /// `updateLookup`: the current version of the document, looked up when the event is read. Later
    /// changes can be part of it, and it is missing if the document was deleted since.
    UpdateLookup,
    /// `whenAvailable`: the post-image, if the collection stores one (MongoDB 6.0+).
    WhenAvailable,
    /// `required`: the post-image; an event without one is an error (MongoDB 6.0+).
    Required,
    /// Another value.
    Other(String),
}

/// The values of `fullDocumentBeforeChange`: when an update, replace or delete event contains the
/// document before the change (MongoDB 6.0+). The collection must store pre-images
/// (`changeStreamPreAndPostImages`).
///
/// Created from a string, e.g. by `.full_document_before_change("required")`; a value that is not
/// known here is sent to the server as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullDocumentBeforeChange {
    /// `off`: never.
    Off,
    /// `whenAvailable`: if the pre-image is stored.
    WhenAvailable,
    /// `required`: an event without a pre-image is an error.
    Required,
    /// Another value.
    Other(String),
}

impl FullDocument {
    /// Whether the events contain post-images (MongoDB 6.0+).
    pub(crate) fn is_post_image(&self) -> bool {
        matches!(self, Self::WhenAvailable | Self::Required)
    }

    /// The value in the command.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Default => "default",
            Self::UpdateLookup => "updateLookup",
            Self::WhenAvailable => "whenAvailable",
            Self::Required => "required",
            Self::Other(value) => value,
        }
    }
}

impl From<&str> for FullDocument {
    fn from(value: &str) -> Self {
        match value {
            "default" => Self::Default,
            "updateLookup" => Self::UpdateLookup,
            "whenAvailable" => Self::WhenAvailable,
            "required" => Self::Required,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<String> for FullDocument {
    fn from(value: String) -> Self {
        Self::from(value.as_str())
    }
}

impl FullDocumentBeforeChange {
    /// The value in the command.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Off => "off",
            Self::WhenAvailable => "whenAvailable",
            Self::Required => "required",
            Self::Other(value) => value,
        }
    }
}

impl From<&str> for FullDocumentBeforeChange {
    fn from(value: &str) -> Self {
        match value {
            "off" => Self::Off,
            "whenAvailable" => Self::WhenAvailable,
            "required" => Self::Required,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<String> for FullDocumentBeforeChange {
    fn from(value: String) -> Self {
        Self::from(value.as_str())
    }
}
