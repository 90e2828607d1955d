//! Prose test 2 of the ObjectId specification: the counter overflows from 0xFFFFFF to 0.

use marula_driver::bson::ObjectId;

/// The counter starts at a random value and cannot be set: the test makes up to 2²⁴ ids to reach
/// the overflow.
#[test]
fn bson_objectid_prose_2() {
    let _alone = crate::lock_process();
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
    panic!("the counter did not overflow");
}
