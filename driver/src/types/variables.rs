//! Where environment variables are read from, so that tests need not change the process's own.

use std::{collections::BTreeMap, fmt, sync::Arc};

/// Environment variables: the process's own, or those of a test.
#[derive(Clone, Default)]
pub enum Variables {
    /// Those of the process.
    #[default]
    Process,
    /// These and no others.
    #[cfg_attr(
        not(feature = "internals"),
        allow(dead_code, reason = "for tests, through `internals`")
    )]
    Fixed(Arc<BTreeMap<String, String>>),
}

impl Variables {
    /// These and no others.
    #[cfg_attr(
        not(feature = "internals"),
        allow(dead_code, reason = "for tests, through `internals`")
    )]
    pub fn fixed<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self::Fixed(Arc::new(BTreeMap::from(owned)))
    }

    /// The value of a variable that is set and not empty. One that is no UTF-8 counts as not set.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match self {
            Self::Process => std::env::var(name).ok(),
            Self::Fixed(variables) => variables.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Variables {
    /// Values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "Process",
            Self::Fixed(_) => "Fixed",
        })
    }
}
