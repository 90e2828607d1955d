//! What MongoDB refuses of commands in transactions.

use super::rows;

rows! {}
