//! The encrypted fields in the values of a type, also those that cannot be encrypted there, such as those of array elements.

use crate::{
    base::{bson::Bson, type_map::TypeMap},
    form::json_schema::{self, OuterTypes},
    path::field::Field,
};

static TYPES: TypeMap<Vec<String>> = TypeMap::new();

/// The paths of the encrypted fields in a value of a type. Those in a value whose form is not known have its path.
pub(crate) fn encrypted_paths<T: Field>() -> &'static [String] {
    if !cfg!(feature = "encryption") {
        return &[];
    }
    TYPES.get_or_init(typeid::of::<T>(), || {
        let mut outer = OuterTypes::default();
        let schema = T::json_schema(&mut outer);
        let schema = match outer.marking() {
            Some(mut outer) => T::json_schema(&mut outer),
            None => schema,
        };
        json_schema::encrypted_paths(&schema)
    })
}

/// The path of an encrypted field that has a value in a value of a type. Scalars have no fields.
pub(crate) fn encrypted_in<T: Field>(value: &Bson) -> Option<&'static str> {
    if !matches!(value, Bson::Document(_) | Bson::Array(_)) {
        return None;
    }
    let mut paths = encrypted_paths::<T>().iter();
    paths.find(|path| is_present(value, path)).map(String::as_str)
}

fn is_present(value: &Bson, path: &str) -> bool {
    match value {
        Bson::Null => false,
        Bson::Array(elements) => elements.iter().any(|element| is_present(element, path)),
        Bson::Document(document) if path.is_empty() => !document.is_empty(),
        _ if path.is_empty() => true,
        Bson::Document(document) => {
            let (name, rest) = path.split_once('.').unwrap_or((path, ""));
            document.get(name).is_some_and(|value| is_present(value, rest))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{base::bson::doc, form::json_schema::UNREACHABLE, term::encryption::fields::encrypted};

    #[test]
    fn values_without_a_value_of_the_field_have_none() {
        let is_in = |value: Bson| is_present(&value, "a.b");
        for value in [
            doc! { "a": { "b": 1 } }.into(),
            doc! { "a": [{ "c": 1 }, { "b": "x" }] }.into(),
            Bson::Array(vec![doc! { "a": { "b": { "c": 1 } } }.into()]),
        ] {
            assert!(is_in(value));
        }
        for value in [
            Bson::Null,
            Bson::Array(Vec::new()),
            doc! { "a": { "b": Bson::Null } }.into(),
            doc! { "a": 1, "b": 1 }.into(),
            doc! { "a": [{ "b": [] }] }.into(),
        ] {
            assert!(!is_in(value));
        }
    }

    #[test]
    fn fields_of_arrays_enums_and_hidden_values_have_paths() {
        let field = || encrypted("string", Vec::new());
        let inner =
            || doc! { "bsonType": "object", "properties": { "a": field(), "b": { "bsonType": "int" } } };
        let schema = doc! {
            "required": ["list"],
            "properties": {
                "ssn": field(),
                "list": { "bsonType": "array", "items": inner() },
                "kind": { "anyOf": [{ "enum": ["x"] }, inner()] },
                "map": { UNREACHABLE: inner() },
                "hidden": { UNREACHABLE: [inner()] },
                "plain": { UNREACHABLE: [{ "bsonType": "int" }] },
            },
            "allOf": [inner()],
        };
        assert_eq!(
            json_schema::encrypted_paths(&schema),
            ["ssn", "list.a", "kind.a", "map", "hidden", "a"]
        );
    }
}
