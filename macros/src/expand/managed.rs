//! The methods of `Model` for maintained fields, validation and hooks.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    code::at,
    expand::root::id_reference,
    model::{CollectionOption, Managed, ManagedColumn, Model, ModelKind, Root, SchemaVersion},
};

/// The constants and methods within `impl Model`.
pub(super) fn items(root: &Root) -> TokenStream {
    let Managed {
        version,
        created_at,
        updated_at,
        soft_delete,
        schema_version,
        kind: model_kind,
    } = &root.managed;
    let schema = schema(schema_version.as_ref());
    let discriminator = match model_kind {
        Some(ModelKind { field, value }) => quote! {
            ::core::option::Option::Some(__m::Discriminator { field: #field, value: #value })
        },
        None => quote!(::core::option::Option::None),
    };
    let name = |column: &Option<ManagedColumn>| match column {
        Some(ManagedColumn { name, .. }) => quote!(::core::option::Option::Some(#name)),
        None => quote!(::core::option::Option::None),
    };
    let (version_name, created, updated, deleted) = (
        name(version),
        name(created_at),
        name(updated_at),
        name(soft_delete),
    );
    let (hooked, is_sharded) = (root.hooks.is_some(), root.shard_key.is_some());
    let id = root.id.as_ref().filter(|id| id.can_be_optional()).map(|id| {
        let reference = id_reference(id, &quote!(mut));
        quote! {
            if let ::core::option::Option::Some(__stored) = &__written.id {
                *#reference = __m::stored_id::<Self>(__stored)?;
            }
        }
    });
    let set_version = version.as_ref().map(|ManagedColumn { ident, .. }| {
        quote! {
            if let ::core::option::Option::Some(__version) = __written.version {
                use __m::{KeepVersion as _, SetVersion as _};
                (&mut __m::ProbeMut(&mut self.#ident)).set_version(__version);
            }
        }
    });
    let dates = [(created_at, quote!(created_at)), (updated_at, quote!(updated_at))];
    let dates: Vec<_> = dates
        .iter()
        .filter_map(|(column, value)| {
            let ident = &column.as_ref()?.ident;
            Some(quote! {
                if let ::core::option::Option::Some(__date) = __written.#value {
                    use __m::{KeepDate as _, SetDate as _};
                    (&mut __m::ProbeMut(&mut self.#ident)).set_date(__date);
                }
            })
        })
        .collect();
    let validate = (!root.validate.is_empty()).then(|| {
        let checks = root.validate.iter().map(|function| {
            let span = at(function.span());
            match function.get_ident().map(ToString::to_string).as_deref() {
                Some("garde") => quote_spanned!(span=> __m::validate_garde(self)?;),
                Some("validator") => quote_spanned!(span=> __m::validate_validator(self)?;),
                _ => quote_spanned!(span=> __m::validated(#function(self))?;),
            }
        });
        quote! {
            fn validate_document(&self) -> ::core::result::Result<(), __m::BoxedError> {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        }
    });
    let hooks = root.hooks.map(|span| {
        quote_spanned! {at(span)=>
            fn before_write(
                &self,
                __write: __m::WriteKind,
            ) -> ::core::result::Result<::core::option::Option<Self>, __m::BoxedError> {
                __m::run_before(self, __write)
            }
            fn after_load(&mut self) -> ::core::result::Result<(), __m::BoxedError> {
                __m::run_after_load(self)
            }
        }
    });
    let columns = [version, created_at, updated_at, soft_delete];
    let kind = kind(&root.options);
    let has_behavior = kind.is_some()
        || hooked
        || is_sharded
        || schema_version.is_some()
        || model_kind.is_some()
        || columns.iter().any(|column| column.is_some());
    let behavior = has_behavior.then(|| {
        let kind = kind.unwrap_or_else(|| quote!(__m::CollectionKind::Ordinary));
        quote! {
            const BEHAVIOR: __m::Behavior = __m::Behavior {
                version: #version_name,
                created_at: #created,
                updated_at: #updated,
                soft_delete: #deleted,
                hooks: #hooked,
                schema: #schema,
                kind: #kind,
                discriminator: #discriminator,
                is_sharded: #is_sharded,
            };
        }
    });
    let written: Vec<_> = id.into_iter().chain(set_version).chain(dates).collect();
    let write_back = (!written.is_empty()).then(|| {
        quote! {
            fn write_back(
                &mut self,
                __written: &__m::Written,
            ) -> ::core::result::Result<(), __m::ValueError> {
                #(#written)*
                ::core::result::Result::Ok(())
            }
        }
    });
    quote! {
        #behavior
        #write_back
        #validate
        #hooks
    }
}

/// The kind of the collection; `None` for an ordinary one.
fn kind(options: &[CollectionOption]) -> Option<TokenStream> {
    options.iter().find_map(|option| match option {
        CollectionOption::TimeSeries { .. } => Some(quote!(__m::CollectionKind::TimeSeries)),
        CollectionOption::Capped { .. } => Some(quote!(__m::CollectionKind::Capped)),
        _ => None,
    })
}

/// The version of the documents, as an `Option`.
fn schema(version: Option<&SchemaVersion>) -> TokenStream {
    let Some(SchemaVersion {
        version,
        field,
        upgrade,
    }) = version
    else {
        return quote!(::core::option::Option::None);
    };
    let upgrade = match upgrade {
        Some(function) => quote_spanned! {at(function.span())=>
            |__from, __document| __m::validated(#function(__from, __document))
        },
        None => quote!(|_, _| ::core::result::Result::Ok(())),
    };
    quote! {
        ::core::option::Option::Some(__m::SchemaVersion {
            model: <Self as __m::Model>::NAME,
            version: #version,
            field: #field,
            upgrade: #upgrade,
        })
    }
}

/// The method of `Field` for the version of the documents.
pub(super) fn schema_version(root: Option<&Root>) -> Option<TokenStream> {
    root?.managed.schema_version.as_ref()?;
    Some(quote! {
        #[inline]
        fn schema_version() -> ::core::option::Option<__m::SchemaVersion> {
            <Self as __m::Model>::BEHAVIOR.schema
        }
    })
}

/// The checks of the types, and the traits of models with soft deletion and with a version.
pub(super) fn checks(model: &Model, root: &Root) -> TokenStream {
    let Managed {
        version,
        created_at,
        updated_at,
        soft_delete,
        schema_version,
        kind: _,
    } = &root.managed;
    let clause = model.generics.model_clause(root.id.as_ref().map(|id| &id.ty));
    let params = model.generics.params();
    let owner = model.generics.of(&model.ident);
    let versioned = schema_version.iter().map(|_| {
        quote! {
            impl<#params> __m::Versioned for #owner #clause {}
        }
    });
    // The version is counted in the stored form, and written back to the field.
    let version = version.iter().flat_map(|column| {
        let stored = Some(&column.stored).filter(|stored| **stored != column.ty);
        stored
            .into_iter()
            .chain([&column.ty])
            .map(|ty| quote_spanned!(at(ty.span())=> const _: fn() = __m::assert_version::<#ty>;))
    });
    let dates = created_at.iter().chain(updated_at).map(|column| {
        let ty = &column.stored;
        quote_spanned!(at(ty.span())=> const _: fn() = __m::assert_managed_date::<#ty>;)
    });
    let deleted = soft_delete.iter().map(|column| {
        let ty = &column.stored;
        let check = quote_spanned!(at(ty.span())=> const _: fn() = __m::assert_soft_delete::<#ty>;);
        quote! {
            #check
            impl<#params> __m::SoftDelete for #owner #clause {}
        }
    });
    quote!(#(#version)* #(#dates)* #(#deleted)* #(#versioned)*)
}
