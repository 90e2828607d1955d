//! Tests with random and corrupted messages: the result is an error or a body within the message,
//! without a panic.

use proptest::{prelude::*, test_runner::RngSeed};

use super::*;
use crate::bson::{Document, doc, to_vec};

/// A configuration with the same cases in every run. Failures are not written to disk.
pub(crate) fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 1_024,
        rng_seed: RngSeed::Fixed(0x6d61_7275_6c61),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A modification of some bytes. Positions are taken modulo the length.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Set(usize, u8),
    Flip(usize, u8),
    /// Writes a 32-bit integer, which is likely to change a length.
    Number(usize, i32),
    Insert(usize, u8),
    Remove(usize),
    Truncate(usize),
}

/// One to four modifications.
pub(crate) fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let place = any::<usize>();
    let number = prop_oneof![
        Just(i32::MAX),
        Just(i32::MIN),
        Just(-1),
        Just(0),
        -8..64,
        any::<i32>()
    ];
    let one = prop_oneof![
        (place, any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (place, 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        (place, number).prop_map(|(at, number)| Damage::Number(at, number)),
        (place, any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        place.prop_map(Damage::Remove),
        place.prop_map(Damage::Truncate),
    ];
    prop::collection::vec(one, 1..5)
}

/// Modifies `bytes`.
pub(crate) fn apply(bytes: &mut Vec<u8>, damage: &[Damage]) {
    for change in damage {
        let length = bytes.len().max(1);
        match *change {
            Damage::Insert(at, byte) => bytes.insert(at % (bytes.len() + 1), byte),
            Damage::Truncate(at) => bytes.truncate(at % length),
            _ if bytes.is_empty() => {}
            Damage::Set(at, byte) => bytes[at % length] = byte,
            Damage::Flip(at, mask) => bytes[at % length] ^= mask,
            Damage::Remove(at) => drop(bytes.remove(at % length)),
            Damage::Number(at, number) => {
                let at = at % length;
                let end = (at + 4).min(length);
                bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
            }
        }
    }
}

/// A message with these flag bits and this body, and optionally a document sequence.
fn message(flags: u32, body: &Document, sequence: bool) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut writer = MessageWriter::begin(&mut buffer, 7, usize::MAX);
    writer.buffer.extend(to_vec(body).unwrap());
    if sequence {
        let start = writer.begin_sequence("documents");
        writer.buffer.extend(to_vec(body).unwrap());
        writer.end_sequence(start).unwrap();
    }
    writer.finish().unwrap();
    buffer[HEADER_LENGTH..HEADER_LENGTH + 4].copy_from_slice(&flags.to_le_bytes());
    buffer
}

fn check(bytes: &[u8]) {
    if let Ok(parsed) = parse_op_msg(bytes) {
        assert!(parsed.body.start >= HEADER_LENGTH + 5 && parsed.body.end <= bytes.len());
        assert!(parsed.body.len() >= 5);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_header_is_rejected_or_within_the_limit(bytes in any::<[u8; HEADER_LENGTH]>(), limit in 0..100_000_000_usize) {
        if let Ok(header) = Header::parse(&bytes, limit) {
            prop_assert!(header.length <= limit && header.length >= HEADER_LENGTH + 10);
        }
    }

    #[test]
    fn a_corrupted_header_is_rejected_or_within_the_limit(damage in damage()) {
        let mut bytes = message(0, &doc! { "ok": 1 }, false);
        bytes.truncate(HEADER_LENGTH);
        apply(&mut bytes, &damage);
        bytes.resize(HEADER_LENGTH, 0);
        if let Ok(header) = Header::parse(bytes.first_chunk().unwrap(), 1_000) {
            prop_assert!(header.length <= 1_000 && header.length >= HEADER_LENGTH + 10);
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn any_sections_are_parsed_or_rejected(
        flags in prop_oneof![Just(0), Just(1), Just(2), any::<u32>()],
        sections in prop::collection::vec(0..8_u8, 0..60),
    ) {
        let mut bytes = vec![0; HEADER_LENGTH];
        bytes.extend(flags.to_le_bytes());
        bytes.extend(sections);
        check(&bytes);
    }

    #[test]
    fn a_corrupted_message_is_parsed_or_rejected(
        flags in prop_oneof![Just(0_u32), Just(2), Just(1 << 16)],
        sequence in any::<bool>(),
        damage in damage(),
    ) {
        let mut bytes = message(flags, &doc! { "ok": 1, "text": "x", "nested": { "a": [1, 2] } }, sequence);
        prop_assert!(parse_op_msg(&bytes).is_ok());
        apply(&mut bytes, &damage);
        check(&bytes);
    }
}
