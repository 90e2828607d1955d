//! What MongoDB refuses of filters, projections, sorts and expressions.

use super::rows;

rows! {}
