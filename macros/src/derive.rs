//! The steps of each derive.

use proc_macro::TokenStream;
use syn::DeriveInput;

use crate::{
    codec::{self, IdCodec},
    diagnostics::Sink,
    expand, model, parse,
};

/// `Shape`.
pub(super) fn shape(mut input: DeriveInput) -> TokenStream {
    if let Some(error) = generic(&input, "Shape") {
        return error;
    }
    parse::own_type::replace(&mut input);
    let input = &input;
    let is_root = parse::has_collection(&input.attrs);
    let sink = Sink::new();
    let parsed = parse::parse(input, is_root, &sink);
    parse::reject_encrypted(&parsed, "Shape", &sink);
    let mut model = model::resolve(&parsed, &sink);
    model.is_result = true;
    let embedded = (!is_root).then(|| {
        let (code, codec) = (
            expand::expand(&model, &IdCodec::default()),
            codec::expand(&parsed, &model.krate, false),
        );
        quote::quote!(#code #codec)
    });
    let shape = expand::shape(&model, &sink);
    let errors = sink.finish();
    // `Document` reports the errors of its attributes.
    let errors = (!is_root).then_some(errors);
    quote::quote!(#embedded #shape #errors).into()
}

/// `Projection`.
pub(super) fn projection(mut input: DeriveInput) -> TokenStream {
    if let Some(error) = generic(&input, "Projection") {
        return error;
    }
    parse::own_type::replace(&mut input);
    let sink = Sink::new();
    let source = parse::projection::take(&mut input, &sink);
    let parsed = parse::parse(&input, false, &sink);
    parse::reject_flatten(&parsed, &sink);
    parse::reject_encrypted(&parsed, "Projection", &sink);
    let mut model = model::resolve(&parsed, &sink);
    model.is_result = true;
    model.is_only_read = true;
    let embedded = expand::expand(&model, &IdCodec::default());
    let codec = codec::expand(&parsed, &model.krate, false);
    let projection = source.map(|source| expand::projection(&model, &source));
    let errors = sink.finish();
    quote::quote!(#embedded #codec #projection #errors).into()
}

/// `Patch` and `Insert`.
pub(super) fn input(input: &DeriveInput, derive: parse::input::Derive) -> TokenStream {
    if let Some(error) = generic(input, derive.name()) {
        return error;
    }
    let sink = Sink::new();
    let parsed = parse::input::parse(input, derive, &sink);
    let code = parsed.map(|input| match derive {
        parse::input::Derive::Patch => expand::patch(&input),
        parse::input::Derive::Insert => expand::insert(&input),
    });
    let errors = sink.finish();
    quote::quote!(#code #errors).into()
}

/// The error of a derive that does not support parameters.
fn generic(input: &DeriveInput, derive: &str) -> Option<TokenStream> {
    let param = input.generics.params.first()?;
    let message = format!("`{derive}` cannot be derived for a type with generic parameters");
    Some(syn::Error::new_spanned(param, message).to_compile_error().into())
}

/// `Document` and `Embedded`.
pub(super) fn stored(mut input: DeriveInput, root: bool) -> TokenStream {
    parse::own_type::replace(&mut input);
    let sink = Sink::new();
    let parsed = parse::parse(&input, root, &sink);
    parse::reject_flatten(&parsed, &sink);
    let model = model::resolve(&parsed, &sink);
    let code = expand::expand(&model, &IdCodec::of(&parsed));
    let codec = codec::expand(&parsed, &model.krate, true);
    let errors = sink.finish();
    quote::quote!(#code #codec #errors).into()
}
