//! The derive macros of marula.
