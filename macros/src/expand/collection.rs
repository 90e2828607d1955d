//! The options of a collection, generated as calls on `CollectionDeclaration`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::index::{accessors, collation};
use crate::model::CollectionOption;

/// The method of `Model`. Nothing without options.
pub(super) fn declaration(options: &[CollectionOption]) -> TokenStream {
    if options.is_empty() {
        return TokenStream::new();
    }
    let calls = options.iter().map(call);
    quote! {
        fn collection() -> __m::CollectionDeclaration {
            let __fields = <Self as __m::Field>::nav(__m::Path::<Self, Self, __m::Read>::root());
            __m::CollectionDeclaration::new() #(#calls)*
        }
    }
}

fn call(option: &CollectionOption) -> TokenStream {
    match option {
        CollectionOption::Capped { size, max } => {
            let max = max.map(|max| quote!(.max_documents(#max)));
            quote!(.capped(#size) #max)
        }
        CollectionOption::TimeSeries {
            time,
            meta,
            granularity,
        } => {
            let time = accessors(time);
            let meta = meta.as_ref().map(|path| {
                let path = accessors(path);
                quote!(.meta(#path))
            });
            let granularity = granularity
                .as_ref()
                .map(|variant| quote!(.granularity(__m::Granularity::#variant)));
            quote!(.time_series(__m::TimeSeries::new(#time) #meta #granularity))
        }
        CollectionOption::Clustered => quote!(.clustered()),
        CollectionOption::ExpireAfter(seconds) => quote!(.expire_after(#seconds)),
        CollectionOption::Collation(options) => {
            let collation = collation(options);
            quote!(.collation(#collation))
        }
        CollectionOption::Images => quote!(.pre_and_post_images(true)),
        CollectionOption::JsonSchema { level, action } => {
            let level = level
                .as_ref()
                .map(|variant| quote!(.validation_level(__m::ValidationLevel::#variant)));
            let action = action
                .as_ref()
                .map(|variant| quote!(.validation_action(__m::ValidationAction::#variant)));
            quote!(.validator(__m::validator(<Self as __m::Model>::json_schema())) #level #action)
        }
    }
}
