use std::collections::BTreeMap;

use marula::Embedded;
use marula::bson::Bson;

mod point {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(point: &super::Point, serializer: S) -> Result<S::Ok, S::Error> {
        std::collections::BTreeMap::from([("x", point.x)]).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<super::Point, D::Error> {
        let map = std::collections::BTreeMap::<String, i32>::deserialize(deserializer)?;
        Ok(super::Point { x: map.get("x").copied().unwrap_or_default() })
    }
}

#[derive(Embedded)]
struct Point {
    x: i32,
}

#[derive(Embedded)]
struct Place {
    #[serde(flatten, with = "point")]
    point: Point,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

fn main() {}
