//! Read preference ([Server Selection], "Read Preference").
//!
//! [Server Selection]:
//! https://github.com/mongodb/specifications/blob/master/source/server-selection/server-selection.md

use std::{collections::BTreeMap, fmt, time::Duration};

/// Tags that a member must have, name to value. An empty set matches every member.
pub type TagSet = BTreeMap<String, String>;

/// The mode of a [`ReadPreference`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadPreferenceMode {
    /// The primary.
    #[default]
    Primary,
    /// The primary, or a secondary if the primary is unavailable.
    PrimaryPreferred,
    /// A secondary.
    Secondary,
    /// A secondary, or the primary if no secondary is eligible.
    SecondaryPreferred,
    /// The primary or a secondary.
    Nearest,
}

impl ReadPreferenceMode {
    /// The mode as the specifications spell it, e.g. `primaryPreferred`.
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

    /// Parses the spelling of the specifications, ignoring case. Returns `None` for other text.
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

/// Which members of a replica set a read may be sent to ([Server Selection]).
///
/// Of the eligible members, one is chosen whose round-trip time exceeds the lowest by at most
/// [`local_threshold`](crate::options::ClientOptions::local_threshold). On a sharded cluster, the
/// read preference is sent to a mongos, which applies it to the shards. A standalone server ignores
/// it.
///
/// An invalid read preference is an [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error
/// when the client is created or the action is awaited.
///
/// ```
/// use std::time::Duration;
///
/// use marula_driver::options::{ReadPreference, ReadPreferenceMode, TagSet};
/// let east = TagSet::from([("region".to_owned(), "east".to_owned())]);
/// let any = TagSet::new();
/// let preference = ReadPreference::new(ReadPreferenceMode::Secondary)
///     .with_tag_sets(vec![east, any])
///     .with_max_staleness(Duration::from_secs(120));
/// ```
///
/// [Server Selection]:
/// https://github.com/mongodb/specifications/blob/master/source/server-selection/server-selection.md#read-preference
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadPreference {
    /// The mode. Default: `primary`.
    pub mode: ReadPreferenceMode,
    /// Tried in order; the first that matches an eligible member is used. If none matches, no
    /// member is eligible. Empty: every member matches. Must be empty for the mode `primary`.
    pub tag_sets: Vec<TagSet>,
    /// `maxStalenessSeconds`: the largest estimated replication lag of a secondary. For a replica
    /// set at least 90 s, and at least `heartbeatFrequencyMS` + 10 s; a smaller value is an error
    /// of the operation. Default: no limit. Not allowed for the mode `primary`.
    pub max_staleness: Option<Duration>,
    /// `hedge`: whether a mongos sends the read to two members of each shard, and uses the first reply (MongoDB 4.4 to 7;
    /// deprecated, and without effect in MongoDB 8.0). Not sent by default, so that the mongos decides. Not allowed for the
    /// mode `primary`.
    pub hedge: Option<bool>,
}

impl ReadPreference {
    /// A read preference with this mode, without tag sets and without `maxStalenessSeconds`.
    #[must_use]
    pub fn new(mode: ReadPreferenceMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The mode `primary`.
    #[must_use]
    pub fn primary() -> Self {
        Self::default()
    }

    /// Sets [`tag_sets`](Self::tag_sets).
    #[must_use]
    pub fn with_tag_sets(mut self, tag_sets: Vec<TagSet>) -> Self {
        self.tag_sets = tag_sets;
        self
    }

    /// Sets [`max_staleness`](Self::max_staleness).
    #[must_use]
    pub fn with_max_staleness(mut self, bound: Duration) -> Self {
        self.max_staleness = Some(bound);
        self
    }

    /// Sets [`hedge`](Self::hedge).
    #[must_use]
    pub fn with_hedge(mut self, enabled: bool) -> Self {
        self.hedge = Some(enabled);
        self
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.mode == ReadPreferenceMode::Primary
    }

    /// Whether there are neither tag sets nor `maxStalenessSeconds`.
    pub(crate) fn is_mode_alone(&self) -> bool {
        self.tag_sets.is_empty() && self.max_staleness.is_none()
    }

    /// Rejects tag sets, `maxStalenessSeconds` and `hedge` with mode primary.
    pub(crate) fn validate(&self) -> Result<(), InvalidReadPreference> {
        if !self.is_primary() {
            return Ok(());
        }
        if self.tag_sets.iter().any(|set| !set.is_empty()) {
            return Err(InvalidReadPreference::TagSets);
        }
        if self.max_staleness.is_some() {
            return Err(InvalidReadPreference::MaxStaleness);
        }
        if self.hedge.is_some() {
            return Err(InvalidReadPreference::Hedge);
        }
        Ok(())
    }
}

/// Why a read preference is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReadPreference {
    /// Tag sets with mode primary.
    TagSets,
    /// `maxStalenessSeconds` with mode primary.
    MaxStaleness,
    /// `hedge` with mode primary.
    Hedge,
}

impl fmt::Display for InvalidReadPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TagSets => f.write_str("read preference primary cannot have tag sets"),
            Self::MaxStaleness => f.write_str("read preference primary cannot have maxStalenessSeconds"),
            Self::Hedge => f.write_str("read preference primary cannot have hedge"),
        }
    }
}

/// The mode `primaryPreferred`, without tag sets and `maxStalenessSeconds`.
pub(crate) const PRIMARY_PREFERRED: &ReadPreference = &ReadPreference {
    mode: ReadPreferenceMode::PrimaryPreferred,
    tag_sets: Vec::new(),
    max_staleness: None,
    hedge: None,
};

/// The mode `nearest`, without tag sets and `maxStalenessSeconds`.
pub(crate) const NEAREST: &ReadPreference = &ReadPreference {
    mode: ReadPreferenceMode::Nearest,
    tag_sets: Vec::new(),
    max_staleness: None,
    hedge: None,
};

/// The mode `primary`, for commands that ignore the read preference of the application.
pub(crate) const PRIMARY: &ReadPreference = &ReadPreference {
    mode: ReadPreferenceMode::Primary,
    tag_sets: Vec::new(),
    max_staleness: None,
    hedge: None,
};
