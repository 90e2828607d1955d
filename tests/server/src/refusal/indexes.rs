//! What MongoDB refuses of `createIndexes`, `dropIndexes` and index builds.

use super::rows;

rows! {}
