//! The compressors of the wire protocol (Wire Compression specification).

/// A compression of the wire protocol.
///
/// Each is there when the feature of its name is on:
///
/// ```
/// use marula_driver::options::Compressor;
/// assert_eq!(Compressor::Zstd.as_str(), "zstd");
/// assert_eq!(Compressor::Zlib.is_available(), cfg!(feature = "zlib"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compressor {
    /// `snappy`: the cheapest to run. Feature `snappy`.
    Snappy,
    /// `zlib`: smaller and slower; its level is `zlibCompressionLevel`. Feature `zlib`.
    Zlib,
    /// `zstd` at its own default level, 3: smaller than snappy and faster than zlib. Feature `zstd`.
    Zstd,
}

impl Compressor {
    pub(crate) const ALL: [Self; 3] = [Self::Snappy, Self::Zlib, Self::Zstd];

    /// Its name in connection strings and in the handshake, and that of its feature.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// Whether its feature is on.
    #[must_use]
    pub const fn is_available(self) -> bool {
        match self {
            Self::Snappy => cfg!(feature = "snappy"),
            Self::Zlib => cfg!(feature = "zlib"),
            Self::Zstd => cfg!(feature = "zstd"),
        }
    }

    /// The compressor of this name, available or not.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// Its number in messages.
    pub(crate) const fn id(self) -> u8 {
        match self {
            Self::Snappy => 1,
            Self::Zlib => 2,
            Self::Zstd => 3,
        }
    }

    /// The compressor of this number, available or not.
    pub(crate) fn numbered(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.id() == id)
    }
}
