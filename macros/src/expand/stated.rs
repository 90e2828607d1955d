//! Checks of the stored forms that `opaque` and `as` state.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::spanned::Spanned;

use crate::expand::{at, parts};
use crate::model::{Accessor, AccessorKind, dates};

const OPAQUE: &str = "marula stores the type of this field as a date or a decimal, and `opaque` stores what its `Serialize` writes, which no \
                      date operator, no range and no TTL index reads as one: remove `opaque`; to store text, use `#[document(as = String)]`";
const STATED: &str = "`as` states a date or a decimal, and the `Serialize` of the type of this field writes another form: remove `as`, because \
                      marula stores the type as a date or a decimal; or convert it with `#[serde(with = \"…\")]`";

/// Rejects a date or a decimal of another crate whose stored form is that of its `Serialize`, unless another form is stated. The compiler
/// knows the type also behind an alias.
pub(super) fn checks<'a>(accessors: impl Iterator<Item = &'a Accessor>) -> TokenStream {
    let own = accessors.filter(|a| !a.is_converted && !parts::is_plain(&a.ty));
    let checks = own.filter_map(|a| {
        let reason = match &a.kind {
            AccessorKind::Opaque => OPAQUE,
            AccessorKind::As(stated) if dates::states(stated) => STATED,
            AccessorKind::As(_) | AccessorKind::Flat | AccessorKind::Typed => return None,
        };
        let ty = &a.ty;
        Some(quote_spanned! { at(ty.span()) =>
            const _: () = ::core::assert!(!<__m::TypeProbe<#ty>>::CONVERTS, #reason);
        })
    });
    checks.collect()
}
