//! What MongoDB refuses of pipelines.

use super::rows;

rows! {}
