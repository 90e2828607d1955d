//! The paths of encrypted values.

/// The path of an encrypted value in the documents, and the field of the model that it is. The path is empty for a whole
/// value, and starts with `$name` for that of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) at: String,
    pub(super) field: String,
}

impl Place {
    /// The encrypted field of a model, in the documents of its collection.
    pub(super) fn of_field(path: &str) -> Self {
        Place {
            at: path.to_owned(),
            field: path.to_owned(),
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
        field: place.field,
    });
    inside.collect()
}

/// The places in the value of a variable.
pub(super) fn variable(name: &str, places: Vec<Place>) -> Vec<Place> {
    under(&format!("${name}"), places)
}

/// Whether the path `inner` is `outer`, or inside of it.
pub(super) fn is_within(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The places in the value at a path.
pub(super) fn at_path(path: &str, places: &[Place]) -> Vec<Place> {
    let inside = places.iter().filter_map(|place| {
        let at = if path.is_empty() {
            (!place.is_variable()).then_some(&*place.at)
        } else if place.at.is_empty() || is_within(path, &place.at) {
            Some("")
        } else {
            place
                .at
                .strip_prefix(path)
                .and_then(|rest| rest.strip_prefix('.'))
        };
        at.map(|at| Place {
            at: at.to_owned(),
            field: place.field.clone(),
        })
    });
    inside.collect()
}

/// The places as parts of a value of unknown form.
pub(super) fn whole(places: impl IntoIterator<Item = Place>) -> Vec<Place> {
    let whole = places.into_iter().map(|place| Place {
        at: String::new(),
        field: place.field,
    });
    whole.collect()
}
