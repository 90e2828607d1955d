//! What MongoDB refuses of `create`, `collMod` and other commands on collections.

use super::rows;

rows! {}
