//! What MongoDB refuses of `insert`, `update`, `delete`, `findAndModify` and `bulkWrite`.

use super::rows;

rows! {}
