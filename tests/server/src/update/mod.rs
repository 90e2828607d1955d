//! Update language.
