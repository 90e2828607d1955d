//! Compressors of the wire protocol ([OP_COMPRESSED]).
//!
//! [OP_COMPRESSED]:
//! https://github.com/mongodb/specifications/blob/master/source/compression/OP_COMPRESSED.md

/// A compressor of the wire protocol ([OP_COMPRESSED]); see
/// [`ClientOptions::compressors`](crate::options::ClientOptions::compressors).
///
/// Each compressor requires the crate feature of the same name:
///
/// ```
/// use marula_driver::options::Compressor;
/// assert_eq!(Compressor::Zstd.as_str(), "zstd");
/// assert_eq!(Compressor::Zlib.is_available(), cfg!(feature = "zlib"));
/// ```
///
/// [OP_COMPRESSED]:
/// https://github.com/mongodb/specifications/blob/master/source/compression/OP_COMPRESSED.md
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compressor {
    /// `snappy`: fast, with a moderate compression ratio. Feature `snappy`.
    Snappy,
    /// `zlib`: slower, with a higher compression ratio. The level is `zlibCompressionLevel`.
    /// Feature `zlib`.
    Zlib,
    /// `zstd` at level 3: a higher compression ratio than snappy, faster than zlib. Feature `zstd`.
    Zstd,
}

impl Compressor {
    pub(crate) const ALL: [Self; 3] = [Self::Snappy, Self::Zlib, Self::Zstd];

    /// The name in connection strings and in the handshake; also the name of the feature.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// Whether the crate was compiled with the feature of this compressor.
    #[must_use]
    pub const fn is_available(self) -> bool {
        match self {
            Self::Snappy => cfg!(feature = "snappy"),
            Self::Zlib => cfg!(feature = "zlib"),
            Self::Zstd => cfg!(feature = "zstd"),
        }
    }

    /// The compressor with this name, whether or not its feature is enabled.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// `compressorId` in OP_COMPRESSED.
    pub(crate) const fn id(self) -> u8 {
        match self {
            Self::Snappy => 1,
            Self::Zlib => 2,
            Self::Zstd => 3,
        }
    }

    /// The compressor with this `compressorId`, whether or not its feature is enabled.
    pub(crate) fn numbered(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.id() == id)
    }
}
