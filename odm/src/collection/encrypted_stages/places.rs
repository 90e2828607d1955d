//! The paths of encrypted values.

use std::collections::HashSet;

pub(super) use crate::ast::path::is_within;

/// The path of an encrypted value in the documents, and the field of the model that it is. The path is empty for a whole
/// value, and starts with `$name` for that of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) at: String,
    pub(super) field: String,
    /// Whether the value there is always the encrypted one. `false` if it can be another one, such as that of an operator which
    /// reads the encrypted value.
    pub(super) is_certain: bool,
}

impl Place {
    /// The encrypted field of a model, in the documents of its collection.
    pub(super) fn of_field(path: &str) -> Self {
        Place {
            at: path.to_owned(),
            field: path.to_owned(),
            is_certain: true,
        }
    }

    /// A value of unknown form that is made of an encrypted field.
    pub(super) fn part_of(field: String) -> Self {
        Place {
            at: String::new(),
            field,
            is_certain: false,
        }
    }

    /// The same value at another path.
    pub(super) fn moved(&self, at: &str) -> Self {
        Place {
            at: at.to_owned(),
            ..self.clone()
        }
    }

    /// Whether it is in the value of a variable.
    pub(super) fn is_variable(&self) -> bool {
        self.at.starts_with('$')
    }
}

/// The places inside of a field.
pub(super) fn under(name: &str, places: Vec<Place>) -> Vec<Place> {
    let inside = places.into_iter().map(|place| Place {
        at: if place.at.is_empty() {
            name.to_owned()
        } else {
            format!("{name}.{}", place.at)
        },
        ..place
    });
    inside.collect()
}

/// The places in the value of a variable.
pub(super) fn variable(name: &str, places: Vec<Place>) -> Vec<Place> {
    under(&format!("${name}"), places)
}

/// The places in the value at a path. Names of digits in the path, after the first name, can be positions in arrays.
pub(super) fn at_path(path: &str, places: &[Place]) -> Vec<Place> {
    let inside = places.iter().filter_map(|place| {
        let at = match path {
            "" => (!place.is_variable()).then_some(&*place.at),
            path => rest_of(&place.at, path),
        };
        at.map(|at| place.moved(at))
    });
    inside.collect()
}

/// What follows a path in the path of a place. Empty if the place is the value at the path or contains it. `None` if the place
/// is another one.
fn rest_of<'a>(at: &'a str, path: &str) -> Option<&'a str> {
    let mut rest = at;
    for (n, name) in path.split('.').enumerate() {
        let (next, after) = rest.split_once('.').unwrap_or((rest, ""));
        if rest.is_empty() {
            break;
        } else if next == name {
            rest = after;
        } else if n == 0 || !is_index(name) {
            return None;
        }
    }
    Some(rest)
}

fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// The places as parts of a value of unknown form.
pub(super) fn whole(places: impl IntoIterator<Item = Place>) -> Vec<Place> {
    places
        .into_iter()
        .map(|place| Place::part_of(place.field))
        .collect()
}

/// The places in a value that is one of several: that of each of them. Null is skipped: it has none.
pub(super) fn one_of(values: impl IntoIterator<Item = Vec<Place>>) -> Vec<Place> {
    let values: Vec<Vec<Place>> = values.into_iter().collect();
    let is_in =
        |place: &Place, all: &[Place]| all.iter().any(|other| other.is_certain && other.at == place.at);
    let mut places: Vec<Place> = values.iter().flatten().cloned().collect();
    distinct(&mut places);
    for place in &mut places {
        place.is_certain = place.is_certain && values.iter().all(|value| is_in(place, value));
    }
    places
}

/// Removes the places in the values of a field that a stage sets or removes.
pub(super) fn remove(name: &str, places: &mut Vec<Place>) {
    places.retain(|place| place.is_variable() || !is_within(&place.at, name));
    for place in places {
        place.is_certain = place.is_certain && !is_within(name, &place.at);
    }
}

/// Removes the places in the value of a variable.
pub(super) fn remove_variable(name: &str, places: &mut Vec<Place>) {
    let name = format!("${name}");
    places.retain(|place| !is_within(&place.at, &name));
}

/// Each place once.
pub(super) fn distinct(places: &mut Vec<Place>) {
    let mut known = HashSet::new();
    places.retain(|place| known.insert(place.clone()));
}
