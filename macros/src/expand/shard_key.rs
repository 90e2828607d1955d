//! The shard key, generated as calls on the typed paths of the model.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{expand::index::accessors, model::ShardKey};

/// The method of `Model`.
pub(super) fn declaration(key: &ShardKey) -> TokenStream {
    let fields = key.fields.iter().map(|(path, hashed)| {
        let path = accessors(path);
        if *hashed {
            quote!(.hashed(#path))
        } else {
            quote!(.field(#path))
        }
    });
    let unique = key.unique.then(|| quote!(.unique()));
    quote! {
        fn shard_key() -> ::core::option::Option<__m::ShardKey> {
            let __fields = <Self as __m::Field>::nav(__m::Path::<Self, Self, __m::Read>::root());
            ::core::option::Option::Some(__m::ShardKey::new() #(#fields)* #unique)
        }
    }
}
