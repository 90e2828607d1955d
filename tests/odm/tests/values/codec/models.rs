//! The models of the other tests.

use std::collections::BTreeMap;

use super::{load, stored};
use crate::everywhere::{Everywhere, everywhere};

#[test]
fn converted_values_at_every_place() {
    assert_eq!(load::<Everywhere>(stored(&everywhere(1))).unwrap(), everywhere(1));
    let map: BTreeMap<String, _> = (0..12).map(|id| (format!("k{id}"), everywhere(id))).collect();
    assert_eq!(load::<BTreeMap<String, Everywhere>>(stored(&map)).unwrap(), map);
}
