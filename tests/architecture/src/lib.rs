//! Reads the sources of the workspace: which files there are, what each imports, and where it breaks the rules of the project.

mod imports;
mod source;

pub use imports::{Import, imports_of, root_exports};
pub use source::{Source, sources_of, workspace_root};
