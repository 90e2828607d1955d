//! The derive macros of marula.
use proc_macro::TokenStream;
/// x
#[proc_macro_derive(Document, attributes(document))]
pub fn document(_: TokenStream) -> TokenStream { TokenStream::new() }
/// x
#[proc_macro_derive(Embedded, attributes(document))]
pub fn embedded(_: TokenStream) -> TokenStream { TokenStream::new() }
