//! Prose test of the ObjectId specification that needs the process's counter for itself.

use marula_driver::bson::ObjectId;

/// The counter of the process cannot be set, so it is driven to its end: at most 2²⁴ ids are made.
#[test]
fn bson_objectid_prose_2() {
    let counter = |id: ObjectId| {
        let [.., a, b, c] = id.bytes();
        [a, b, c]
    };
    for _ in 0..=1 << 24 {
        if counter(ObjectId::new()) == [0xFF; 3] {
            assert_eq!(counter(ObjectId::new()), [0; 3]);
            return;
        }
    }
    panic!("the counter passed its end without reaching it");
}
