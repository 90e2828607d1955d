//! Dates and decimals of other crates, whose `Serialize` writes text.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// Types that are dates in every crate.
const DATES: [&str; 7] = [
    "NaiveDate",
    "NaiveDateTime",
    "NaiveTime",
    "OffsetDateTime",
    "PrimitiveDateTime",
    "UtcDateTime",
    "Zoned",
];
/// Types that are dates in the crates `chrono`, `time` and `jiff`.
const DATES_IN: [(&str, &[&str]); 3] = [
    ("chrono", &["DateTime"]),
    ("time", &["Date", "Time"]),
    ("jiff", &["Timestamp", "Date", "DateTime", "Time"]),
];
/// Types that are decimals, and their crates.
const DECIMALS: [(&str, &str); 2] = [("Decimal", "rust_decimal"), ("BigDecimal", "bigdecimal")];

/// The kind of a type, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Date,
    Decimal,
}

impl Named {
    /// The type of BSON.
    fn stored(self) -> &'static str {
        match self {
            Named::Date => "DateTime",
            Named::Decimal => "Decimal128",
        }
    }

    fn features(self) -> &'static str {
        match self {
            Named::Date => "`chrono`, `time` or `jiff`",
            Named::Decimal => "`rust_decimal` or `bigdecimal`",
        }
    }
}

/// The first type that is found by its path, as the type itself or in its parameters, elements and fields.
fn find<T>(ty: &Type, found: &impl Fn(&PathSegment, &[&PathSegment]) -> Option<T>) -> Option<(T, String)> {
    match ty {
        Type::Path(path) => {
            let segments: Vec<&PathSegment> = path.path.segments.iter().collect();
            let (last, before) = segments.split_last()?;
            if let Some(found) = found(last, before) {
                let names: Vec<String> = segments.iter().map(|s| s.ident.to_string()).collect();
                return Some((found, names.join("::")));
            }
            match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|a| match a {
                    GenericArgument::Type(inner) => find(inner, found),
                    _ => None,
                }),
                _ => None,
            }
        }
        Type::Array(array) => find(&array.elem, found),
        Type::Slice(slice) => find(&slice.elem, found),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(|ty| find(ty, found)),
        Type::Group(group) => find(&group.elem, found),
        Type::Paren(paren) => find(&paren.elem, found),
        _ => None,
    }
}

/// A date or decimal whose `Serialize` writes text, and its name. Recognized by its name, since a derive has no type
/// information.
fn stored_as_text(ty: &Type) -> Option<(Named, String)> {
    find(ty, &|last, before| foreign(last, before))
}

fn foreign(last: &PathSegment, before: &[&PathSegment]) -> Option<Named> {
    let name = last.ident.to_string();
    let krate = before.first().map(|krate| krate.ident.to_string());
    let of_crate = DATES_IN
        .iter()
        .any(|(k, names)| krate.as_deref() == Some(k) && names.contains(&name.as_str()));
    // `chrono::DateTime` is the only one with a type parameter.
    let of_chrono = name == "DateTime" && !last.arguments.is_empty();
    if DATES.contains(&name.as_str()) || of_crate || of_chrono {
        return Some(Named::Date);
    }
    let is_decimal =
        |(decimal, of): &(&str, &str)| name == *decimal && krate.as_deref().is_none_or(|k| k == *of);
    DECIMALS.iter().any(is_decimal).then_some(Named::Decimal)
}

/// The alternative to `opaque`, if the type is or contains a date or a decimal of another crate.
pub(super) fn advice(ty: &Type) -> Option<String> {
    let (named, name) = stored_as_text(ty)?;
    let reads = match named {
        Named::Date => "no date operator, no range and no TTL index reads as a date",
        Named::Decimal => "no arithmetic operator and no range reads as a number",
    };
    Some(format!(
        "`opaque` stores a `{name}` as text, which {reads}: remove `opaque` and enable the feature {} of marula, or convert it with \
         `#[serde(with = \"…\")]` and `#[document(as = marula::bson::{})]`; to store text, use `#[document(as = String)]`",
        named.features(),
        named.stored()
    ))
}
