//! Parts of all generated code: its locations, and the lints that it does not follow.

use proc_macro2::{Span, TokenStream};
use quote::quote;

/// The location of a span for messages, with the hygiene of the call site.
pub(crate) fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// The lints that generated code does not follow.
pub(crate) fn allowed() -> TokenStream {
    quote! {
        #[allow(
            unused_imports, unreachable_code, unreachable_patterns, unreachable_pub, private_interfaces, private_bounds, dead_code, non_snake_case,
            non_camel_case_types, missing_docs, missing_debug_implementations, single_use_lifetimes, variant_size_differences,
            deprecated, rustdoc::broken_intra_doc_links, clippy::all, clippy::pedantic, clippy::nursery
        )]
    }
}
