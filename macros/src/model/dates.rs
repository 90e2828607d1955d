//! Dates of other crates, whose `Serialize` writes text.

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

/// The name of a date whose `Serialize` writes text, if the type is one or contains one in an
/// `Option`, an array or a box. Recognized by its name, since a derive has no type information.
pub(super) fn stored_as_text(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => {
            let segments: Vec<&PathSegment> = path.path.segments.iter().collect();
            let (last, before) = segments.split_last()?;
            if is_date(last, before) {
                let names: Vec<String> = segments.iter().map(|s| s.ident.to_string()).collect();
                return Some(names.join("::"));
            }
            match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|a| match a {
                    GenericArgument::Type(inner) => stored_as_text(inner),
                    _ => None,
                }),
                _ => None,
            }
        }
        Type::Array(array) => stored_as_text(&array.elem),
        Type::Slice(slice) => stored_as_text(&slice.elem),
        Type::Group(group) => stored_as_text(&group.elem),
        Type::Paren(paren) => stored_as_text(&paren.elem),
        _ => None,
    }
}

fn is_date(last: &PathSegment, before: &[&PathSegment]) -> bool {
    let name = last.ident.to_string();
    let of_crate = before.first().is_some_and(|krate| {
        DATES_IN
            .iter()
            .any(|(k, names)| krate.ident == k && names.contains(&name.as_str()))
    });
    // `chrono::DateTime` is the only one with a type parameter.
    let of_chrono = name == "DateTime" && !last.arguments.is_empty();
    DATES.contains(&name.as_str()) || of_crate || of_chrono
}

/// The alternative to `opaque`, for messages.
pub(super) fn advice(date: &str) -> String {
    format!(
        "`opaque` stores a `{date}` as text, which no date operator, no range and no TTL index reads as a date: remove `opaque` and \
         enable the feature `chrono`, `time` or `jiff` of marula, or convert it with `#[serde(with = \"…\")]` and \
         `#[document(as = marula::bson::DateTime)]`; to store text, use `#[document(as = String)]`"
    )
}
