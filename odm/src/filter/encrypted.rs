//! Conditions on encrypted fields.

use crate::filter::Filter;

/// The paths of the conditions on encrypted fields, each once. Without any, nothing is allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncryptedPaths(Option<Box<Paths>>);

#[derive(Clone, Debug, Default)]
struct Paths(Vec<Box<str>>);

impl EncryptedPaths {
    fn push(&mut self, path: Box<str>) {
        let Paths(all) = &mut **self.0.get_or_insert_default();
        if !all.contains(&path) {
            all.push(path);
        }
    }

    /// The paths of both.
    #[inline]
    pub(crate) fn and(mut self, other: Self) -> Self {
        if other.0.is_some() {
            other.into_iter().for_each(|path| self.push(path));
        }
        self
    }

    /// The paths of conditions on the elements of the array at the path `outer`, or on the fields of the value there.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        if let (Some(paths), false) = (&mut self.0, outer.is_empty()) {
            for path in &mut paths.0 {
                *path = match &**path {
                    "" => outer.into(),
                    inner => format!("{outer}.{inner}").into_boxed_str(),
                };
            }
        }
        self
    }
}

impl IntoIterator for EncryptedPaths {
    type Item = Box<str>;
    type IntoIter = std::vec::IntoIter<Box<str>>;

    fn into_iter(self) -> Self::IntoIter {
        let Paths(all) = self.0.map_or_else(Paths::default, |paths| *paths);
        all.into_iter()
    }
}

impl<R> Filter<R> {
    /// The filter, which has a condition on the encrypted field at this path.
    pub(crate) fn on_encrypted(mut self, path: &str) -> Self {
        self.encrypted.push(path.into());
        self
    }

    /// The filter, with further conditions on encrypted fields.
    pub(crate) fn with_encrypted(self, paths: EncryptedPaths) -> Self {
        Filter {
            encrypted: self.encrypted.and(paths),
            ..self
        }
    }

    /// The paths of the conditions on encrypted fields, for the pipeline that contains the filter.
    pub(crate) fn take_encrypted(&mut self) -> EncryptedPaths {
        std::mem::take(&mut self.encrypted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(all: &[&str]) -> EncryptedPaths {
        let mut paths = EncryptedPaths::default();
        all.iter().for_each(|path| paths.push((*path).into()));
        paths
    }

    #[test]
    fn each_path_is_noted_once() {
        let all = paths(&["a", "b"])
            .and(paths(&["b", "c"]))
            .and(EncryptedPaths::default());
        let all: Vec<_> = all.into_iter().collect();
        assert_eq!(all, ["a", "b", "c"].map(Box::from));
        assert!(
            EncryptedPaths::default()
                .and(EncryptedPaths::default())
                .0
                .is_none()
        );
    }

    #[test]
    fn paths_inside_of_an_array_are_those_of_the_document() {
        let all: Vec<_> = paths(&["a", ""]).within("x.y").into_iter().collect();
        assert_eq!(all, ["x.y.a", "x.y"].map(Box::from));
        let all: Vec<_> = paths(&["a"]).within("").into_iter().collect();
        assert_eq!(all, ["a"].map(Box::from));
    }

    #[test]
    fn a_filter_without_encrypted_fields_has_only_a_pointer_more() {
        assert_eq!(size_of::<EncryptedPaths>(), size_of::<usize>());
    }
}
