//! What MongoDB refuses of commands with `apiStrict`.

use super::rows;

rows! {}
