//! What MongoDB refuses of sharded collections.

use super::rows;

rows! {}
