//! Which member of a replica set may answer a read (Server Selection specification).

use std::{collections::BTreeMap, fmt, time::Duration};

/// A set of `name: value` tags that a member must all carry; the empty set matches every member.
pub type TagSet = BTreeMap<String, String>;

/// The mode of a [`ReadPreference`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadPreferenceMode {
    /// The primary only.
    #[default]
    Primary,
    /// The primary, or a secondary while there is none.
    PrimaryPreferred,
    /// Secondaries only.
    Secondary,
    /// A secondary, or the primary when no secondary is eligible.
    SecondaryPreferred,
    /// The nearest member, whatever it is.
    Nearest,
}

impl ReadPreferenceMode {
    /// The mode as the specifications spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::PrimaryPreferred => "primaryPreferred",
            Self::Secondary => "secondary",
            Self::SecondaryPreferred => "secondaryPreferred",
            Self::Nearest => "nearest",
        }
    }

    /// Reads the specified spelling, whatever its case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Primary,
            Self::PrimaryPreferred,
            Self::Secondary,
            Self::SecondaryPreferred,
            Self::Nearest,
        ]
        .into_iter()
        .find(|mode| mode.as_str().eq_ignore_ascii_case(text))
    }
}

/// Mode, tag sets and staleness bound of a read.
///
/// ```
/// use marula_driver::options::{ReadPreference, ReadPreferenceMode};
/// let preference = ReadPreference::new(ReadPreferenceMode::Nearest);
/// assert_eq!(preference.mode.as_str(), "nearest");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadPreference {
    /// The mode; default primary.
    pub mode: ReadPreferenceMode,
    /// Tried in order; the first that some eligible member matches is used. Empty: every member matches.
    pub tag_sets: Vec<TagSet>,
    /// The largest replication lag a secondary may have. At least 90 s, and heartbeatFrequencyMS + 10 s.
    pub max_staleness: Option<Duration>,
}

impl ReadPreference {
    /// The mode alone.
    #[must_use]
    pub fn new(mode: ReadPreferenceMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// Mode `primary`.
    #[must_use]
    pub fn primary() -> Self {
        Self::default()
    }

    /// With these tag sets, tried in order.
    #[must_use]
    pub fn with_tag_sets(mut self, tag_sets: Vec<TagSet>) -> Self {
        self.tag_sets = tag_sets;
        self
    }

    /// With this bound on replication lag.
    #[must_use]
    pub fn with_max_staleness(mut self, bound: Duration) -> Self {
        self.max_staleness = Some(bound);
        self
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.mode == ReadPreferenceMode::Primary
    }

    /// Whether there are neither tag sets nor `maxStalenessSeconds`.
    pub(crate) fn is_mode_alone(&self) -> bool {
        self.tag_sets.is_empty() && self.max_staleness.is_none()
    }

    /// Rejects tag sets and `maxStalenessSeconds` with mode primary.
    pub(crate) fn validate(&self) -> Result<(), InvalidReadPreference> {
        if !self.is_primary() {
            return Ok(());
        }
        if self.tag_sets.iter().any(|set| !set.is_empty()) {
            return Err(InvalidReadPreference::PrimaryWithTags);
        }
        if self.max_staleness.is_some() {
            return Err(InvalidReadPreference::PrimaryWithMaxStaleness);
        }
        Ok(())
    }
}

/// Why a read preference cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReadPreference {
    /// Tag sets with mode primary.
    PrimaryWithTags,
    /// `maxStalenessSeconds` with mode primary.
    PrimaryWithMaxStaleness,
}

impl fmt::Display for InvalidReadPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrimaryWithTags => f.write_str("read preference primary cannot have tag sets"),
            Self::PrimaryWithMaxStaleness => {
                f.write_str("read preference primary cannot have maxStalenessSeconds")
            }
        }
    }
}

/// Mode `primaryPreferred` alone.
pub(crate) const PRIMARY_PREFERRED: &ReadPreference = &ReadPreference {
    mode: ReadPreferenceMode::PrimaryPreferred,
    tag_sets: Vec::new(),
    max_staleness: None,
};

/// Mode `primary`, for commands that ignore the application's preference.
pub(crate) const PRIMARY: &ReadPreference = &ReadPreference {
    mode: ReadPreferenceMode::Primary,
    tag_sets: Vec::new(),
    max_staleness: None,
};
