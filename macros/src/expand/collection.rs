//! The options of a collection, generated as calls on `CollectionDeclaration`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    expand::index::{accessors, collation},
    model::CollectionOption,
    parse::collection::Acknowledged,
};

/// The methods of `Model`. Nothing without options.
pub(super) fn declaration(options: &[CollectionOption]) -> TokenStream {
    let (of_handle, of_collection): (Vec<_>, Vec<_>) =
        options.iter().partition(|option| option.is_of_handle());
    let handle = (!of_handle.is_empty()).then(|| {
        let calls = of_handle.into_iter().map(call);
        quote! {
            fn configured(__collection: __m::DriverCollection) -> __m::DriverCollection {
                __collection #(#calls)*
            }
        }
    });
    let collection = (!of_collection.is_empty()).then(|| {
        let calls = of_collection.into_iter().map(call);
        quote! {
            fn collection() -> __m::CollectionDeclaration {
                let __fields = <Self as __m::Field>::nav(__m::Path::<Self, Self, __m::Read>::root());
                __m::CollectionDeclaration::new() #(#calls)*
            }
        }
    });
    quote!(#handle #collection)
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
        CollectionOption::ExpireAfterId { id, seconds } => {
            let id = accessors(id);
            quote!(.expire_after_id(#id, #seconds))
        }
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
        CollectionOption::ReadConcern(level) => {
            quote!(.with_read_concern(__m::ReadConcern::new(__m::ReadConcernLevel::#level)))
        }
        CollectionOption::WriteConcern(Acknowledged::Majority) => {
            quote!(.with_write_concern(__m::WriteConcern::majority()))
        }
        CollectionOption::WriteConcern(Acknowledged::Nodes(nodes)) => {
            quote!(.with_write_concern(__m::WriteConcern::nodes(#nodes)))
        }
        CollectionOption::ReadPreference(mode) => {
            quote!(.with_read_preference(__m::ReadPreference::new(__m::ReadPreferenceMode::#mode)))
        }
    }
}
