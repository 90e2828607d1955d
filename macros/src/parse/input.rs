//! The structs of `Patch` and `Insert`: `#[document(of = …)]`, and `path` of their fields.

use syn::{Attribute, Data, DeriveInput, Fields, Ident, Path, Type};

use crate::{
    diagnostics::Sink,
    parse::{is_option, projection, skip_value, ungrouped},
};

/// The derive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Derive {
    Patch,
    Insert,
}

impl Derive {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Derive::Patch => "Patch",
            Derive::Insert => "Insert",
        }
    }
}

/// A struct of input.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    pub(crate) krate: Path,
    /// The model.
    pub(crate) of: Type,
    pub(crate) fields: Vec<InputField>,
}

/// A field of a struct of input.
pub(crate) struct InputField {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// The names of fields, from the model inwards.
    pub(crate) path: Vec<Ident>,
}

/// Parses the struct. `None` after an error for which no code can be generated.
pub(crate) fn parse(input: &DeriveInput, derive: Derive, sink: &Sink) -> Option<Input> {
    let name = derive.name();
    let mut of = None;
    let mut krate = None;
    let mut attributes = input.attrs.clone();
    projection::take_items(&mut attributes, &["of", "crate"], sink, |meta| {
        if meta.path.is_ident("of") {
            of = Some(meta.value()?.parse::<Type>()?);
        } else {
            krate = Some(meta.value()?.call(Path::parse_mod_style)?);
        }
        Ok(())
    });
    reject_others(
        (&input.attrs, &attributes),
        "`of = Type` and `crate = path`",
        derive,
        sink,
    );
    let named = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => Some(&named.named),
            _ => None,
        },
        _ => None,
    };
    let Some(named) = named else {
        sink.on(&input.ident, format!("`{name}` is for structs with named fields"));
        return None;
    };
    let fields = named.iter().filter_map(|field| {
        let ident = field.ident.clone()?;
        let mut path = vec![ident.clone()];
        let mut attributes = field.attrs.clone();
        projection::take_items(&mut attributes, &["path"], sink, |meta| {
            path = projection::parse_path(meta.value()?)?;
            Ok(())
        });
        reject_others((&field.attrs, &attributes), "`path = a.b`", derive, sink);
        check_field(field, &path, derive, sink);
        Some(InputField {
            ident,
            ty: field.ty.clone(),
            path,
        })
    });
    let fields: Vec<InputField> = fields.collect();
    let Some(of) = of else {
        sink.on(
            &input.ident,
            format!("`{name}` needs the model: add `#[document(of = Model)]`"),
        );
        return None;
    };
    Some(Input {
        ident: input.ident.clone(),
        krate: krate.unwrap_or_else(|| syn::parse_quote!(::marula)),
        of,
        fields,
    })
}

/// Reports the attributes of which a part was not taken. `rest`: what was left of all of them.
fn reject_others((all, rest): (&[Attribute], &[Attribute]), known: &str, derive: Derive, sink: &Sink) {
    let is_own = |attribute: &&Attribute| attribute.path().is_ident("document");
    let unknown: Vec<Ident> = rest
        .iter()
        .filter(is_own)
        .flat_map(|rest| {
            let mut names = Vec::new();
            // An error of the syntax was reported.
            let _ = rest.parse_nested_meta(|meta| {
                names.extend(meta.path.get_ident().cloned());
                skip_value(&meta)
            });
            names
        })
        .collect();
    let whole = all.iter().filter(is_own);
    match &unknown[..] {
        [] if rest.iter().any(|rest| is_own(&rest)) => whole.for_each(|attribute| {
            sink.on(attribute, format!("`{}` expects {known}", derive.name()));
        }),
        names => names.iter().for_each(|name| {
            sink.on(
                name,
                format!(
                    "unknown attribute `{name}` of `{}`; known are {known}",
                    derive.name()
                ),
            );
        }),
    }
}

fn check_field(field: &syn::Field, path: &[Ident], derive: Derive, sink: &Sink) {
    match derive {
        Derive::Patch => {
            if option_of_option(&field.ty) {
                sink.on(
                    &field.ty,
                    "serde reads both null and a missing field as `None` of an `Option<Option<T>>`; use `marula::Patched<T>`, which \
                     distinguishes them",
                );
            }
        }
        Derive::Insert => {
            if let [_, second, ..] = path {
                sink.on(
                    second,
                    "the `path` of a field of an insert is the name of one field of the model; insert the whole value",
                );
            }
        }
    }
}

/// Whether the type is an `Option` of an `Option`, as far as its name shows.
fn option_of_option(ty: &Type) -> bool {
    let Type::Path(path) = ungrouped(ty) else {
        return false;
    };
    let arguments = path.path.segments.last().map(|last| &last.arguments);
    is_option(ty)
        && matches!(arguments, Some(syn::PathArguments::AngleBracketed(arguments)) if arguments.args.iter().any(|argument| {
            matches!(argument, syn::GenericArgument::Type(inner) if is_option(inner))
        }))
}
