//! Reads the sources of the workspace: its files, their imports, and the words they use. The tests
//! check the rules of the project against them.

mod imports;
mod source;
mod words;

pub use imports::{Import, imports_of, root_exports};
pub use source::{Source, TextFile, sources_of, tracked_files, workspace_root};
pub use words::{Hit, Rule, Rules};
