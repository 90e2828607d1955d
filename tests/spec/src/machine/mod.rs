//! The suites of the pure machines and of the codec, one file or folder each.
