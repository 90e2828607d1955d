//! Round trips with every enabled compressor, and invalid frames: the result is an error or the
//! message, and memory use stays within the limit.

use proptest::prelude::*;

use super::*;
use crate::{
    bson::{doc, to_vec},
    proto::wire::{
        DEFAULT_MAX_MESSAGE_SIZE, MessageWriter, parse_op_msg,
        tests::{apply, config, damage},
    },
};

const LIMIT: usize = DEFAULT_MAX_MESSAGE_SIZE;

fn available() -> Vec<Compressor> {
    Compressor::ALL
        .into_iter()
        .filter(|compressor| compressor.is_available())
        .collect()
}

fn offering(compressors: &[Compressor]) -> Compression {
    let mut compression = Compression::new(CompressionSettings::new(compressors, None));
    compression.choose(compressors.first().copied());
    compression
}

fn all() -> Compression {
    offering(&available())
}

/// A request `{ insert: … }` that contains these bytes.
fn request(bytes: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::new();
    let message = MessageWriter::begin(&mut buffer, 77, usize::MAX);
    let binary = crate::bson::Binary {
        subtype: crate::bson::BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    };
    message
        .buffer
        .extend(to_vec(&doc! { "insert": "c", "b": binary }).unwrap());
    message.finish().unwrap();
    buffer
}

/// OP_COMPRESSED with any `content`.
fn frame(opcode: i32, size: i32, id: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = i32::try_from(PACKED_HEADER_LENGTH + content.len()).unwrap();
    for number in [length, 7, 8, 2012, opcode, size] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.push(id);
    bytes.extend_from_slice(content);
    bytes
}

fn refusal(compression: &mut Compression, frame: &[u8]) -> String {
    let mut target = Vec::new();
    compression
        .unpack(frame, LIMIT, &mut target)
        .unwrap_err()
        .to_string()
}

/// Incompressible bytes.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn requests_of_any_size_survive_a_round_trip() {
    let mut target = Vec::new();
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        // Large and small messages alternate, so that memory kept from one is reused for the next.
        for content in [
            vec![],
            vec![7; 100_000],
            noise(300),
            noise(200_000),
            vec![0; 3 << 20],
            noise(1),
            noise(3 << 20),
            vec![1; 50],
        ] {
            let message = request(&content);
            let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
            assert_eq!(packed[12..16], 2012_i32.to_le_bytes());
            assert_eq!(packed[..4], (packed.len() as i32).to_le_bytes());
            assert_eq!((&packed[4..12], packed[24]), (&message[4..12], compressor.id()));
            let length = compression.unpack(&packed, LIMIT, &mut target).unwrap();
            assert!(target[..length] == message, "{compressor:?} {}", content.len());
        }
    }
}

#[test]
fn each_level_of_zlib_is_honored() {
    if !Compressor::Zlib.is_available() {
        return;
    }
    let text: Vec<u8> = (0..20_000_u32)
        .flat_map(|n| (n * n % 977).to_string().into_bytes())
        .collect();
    let message = request(&text);
    let mut sizes = Vec::new();
    let mut target = Vec::new();
    for level in -1..=9 {
        let mut compression = Compression::new(CompressionSettings::new(&[Compressor::Zlib], Some(level)));
        compression.choose(Some(Compressor::Zlib));
        let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
        let length = compression.unpack(&packed, LIMIT, &mut target).unwrap();
        assert!(target[..length] == message, "level {level}");
        sizes.push(packed.len());
        // Incompressible content does not exceed the bound.
        let hard = request(&noise(500_000));
        assert!(compression.pack(&hard, usize::MAX).is_ok(), "level {level}");
    }
    assert_eq!(sizes[0], sizes[7], "-1 is 6");
    assert!(sizes[1] > message.len(), "0 stores");
    assert!(sizes[2] < message.len() && sizes[10] < sizes[2], "{sizes:?}");
}

#[test]
fn a_message_that_would_exceed_the_limit_is_not_compressed() {
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        let message = request(&noise(100_000));
        let packed = compression.pack(&message, message.len()).unwrap();
        assert_eq!(packed, message);
        let message = request(&vec![0; 100_000]);
        assert_ne!(compression.pack(&message, message.len()).unwrap(), message);
    }
}

#[test]
fn nothing_is_compressed_unless_negotiated() {
    let message = request(b"x");
    for compressor in available() {
        let mut compression = Compression::new(CompressionSettings::new(&[compressor], None));
        assert_eq!(compression.pack(&message, usize::MAX).unwrap(), message);
        compression.choose(None);
        assert_eq!(compression.pack(&message, usize::MAX).unwrap(), message);
        for other in available().into_iter().filter(|other| *other != compressor) {
            compression.choose(Some(other));
            assert_eq!(compression.pack(&message, usize::MAX).unwrap(), message);
        }
    }
}

#[test]
fn available_compressors_are_offered_once() {
    let wanted = [
        Compressor::Zstd,
        Compressor::Snappy,
        Compressor::Zstd,
        Compressor::Zlib,
    ];
    let settings = CompressionSettings::new(&wanted, None);
    let expected: Vec<Compressor> = [Compressor::Zstd, Compressor::Snappy, Compressor::Zlib]
        .into_iter()
        .filter(|compressor| compressor.is_available())
        .collect();
    assert_eq!(settings.offered(), expected);
}

#[test]
fn a_noop_frame_is_parsed() {
    let message = request(b"abc");
    let content = &message[HEADER_LENGTH..];
    let mut target = Vec::new();
    let packed = frame(2013, content.len() as i32, 0, content);
    let length = all().unpack(&packed, LIMIT, &mut target).unwrap();
    assert_eq!(target[HEADER_LENGTH..length], *content);
    assert_eq!(target[4..12], packed[4..12]);
    assert!(parse_op_msg(&target[..length]).is_ok());
    let wrong = frame(2013, content.len() as i32 + 1, 0, content);
    assert!(refusal(&mut all(), &wrong).contains("noop"));
}

#[test]
fn the_checksum_of_the_original_message_is_verified() {
    let mut message = request(b"abc");
    message[HEADER_LENGTH] |= 1;
    let length = i32::try_from(message.len() + 4).unwrap();
    message[..4].copy_from_slice(&length.to_le_bytes());
    let sum = crate::proto::wire::crc32c::crc32c(&message);
    message.extend_from_slice(&sum.to_le_bytes());
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        let mut target = Vec::new();
        let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
        let length = compression.unpack(&packed, LIMIT, &mut target).unwrap();
        assert!(parse_op_msg(&target[..length]).is_ok());
        // A different request ID, which the checksum covers.
        let mut packed = packed;
        packed[4] ^= 1;
        let length = compression.unpack(&packed, LIMIT, &mut target).unwrap();
        assert!(
            parse_op_msg(&target[..length])
                .unwrap_err()
                .to_string()
                .contains("checksum")
        );
    }
}

#[test]
fn invalid_frames_are_rejected_with_the_reason() {
    let mut compression = all();
    for (bytes, why) in [
        (frame(2012, 100, 0, &[0; 100]), "another compressed message"),
        (frame(1, 100, 0, &[0; 100]), "opcode 1"),
        (frame(2013, -1, 0, &[0; 100]), "uncompressed size of -1"),
        (
            frame(2013, i32::MAX, 0, &[0; 100]),
            "uncompressed size of 2147483647",
        ),
        (
            frame(2013, LIMIT as i32 - 15, 0, &[0; 100]),
            "the limit of a message is 48000000",
        ),
        (
            frame(2013, 99, 0, &[0; 100]),
            "it contains 100 bytes, but uncompressedSize is 99",
        ),
        (frame(2013, 0, 0, &[]), "too few for a reply"),
        (frame(2013, 9, 0, &[0; 9]), "too few for a reply"),
        (frame(2013, 100, 4, &[0; 100]), "unknown compressorId 4"),
        (frame(2013, 100, 255, &[0; 100]), "unknown compressorId 255"),
        (
            frame(2013, 100, 0, &[0; 100])[..20].to_vec(),
            "ends within its header",
        ),
    ] {
        let found = refusal(&mut compression, &bytes);
        assert!(found.contains(why), "{why}: {found}");
    }
    let mut nothing = offering(&[]);
    for compressor in Compressor::ALL {
        let found = refusal(&mut nothing, &frame(2013, 100, compressor.id(), &[0; 100]));
        assert!(
            found.contains("not offered") && found.contains(compressor.as_str()),
            "{found}"
        );
    }
}

#[test]
fn corrupted_content_is_rejected() {
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        let message = request(&[b"abcdefgh".repeat(50), noise(50)].concat());
        let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
        let size = i32::try_from(message.len() - HEADER_LENGTH).unwrap();
        let content = &packed[PACKED_HEADER_LENGTH..];
        let name = compressor.as_str();
        for wrong in [size - 1, size + 1, size / 2, 16] {
            let found = refusal(&mut compression, &frame(2013, wrong, compressor.id(), content));
            assert!(found.contains(name), "{found}");
        }
        for cut in 0..content.len() {
            refusal(
                &mut compression,
                &frame(2013, size, compressor.id(), &content[..cut]),
            );
        }
        let surplus = [content, &[0]].concat();
        refusal(&mut compression, &frame(2013, size, compressor.id(), &surplus));
        // A failed message does not affect the next one.
        let mut target = Vec::new();
        let length = compression.unpack(&packed, LIMIT, &mut target).unwrap();
        assert!(target[..length] == message);
    }
}

#[test]
fn no_memory_is_allocated_beyond_the_maximum_expansion() {
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        let message = request(b"abc");
        let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
        let lie = frame(2013, 40_000_000, compressor.id(), &packed[PACKED_HEADER_LENGTH..]);
        let mut target = Vec::new();
        assert!(compression.unpack(&lie, LIMIT, &mut target).is_err());
        assert_eq!(target.capacity(), 0, "{compressor:?}");
    }
}

#[test]
fn decompression_stops_at_uncompressed_size() {
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        let message = request(&vec![0; 30 << 20]);
        let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
        assert!(packed.len() < 3 << 20);
        let bomb = frame(2013, 1_000, compressor.id(), &packed[PACKED_HEADER_LENGTH..]);
        let mut target = Vec::new();
        assert!(compression.unpack(&bomb, LIMIT, &mut target).is_err());
        assert!(target.capacity() < 4_096, "{compressor:?} {}", target.capacity());
        // The same frame, for a server with a smaller maxMessageSizeBytes.
        assert!(compression.unpack(&packed, 1 << 20, &mut target).is_err());
        assert!(target.capacity() < 4_096, "{compressor:?} {}", target.capacity());
    }
}

#[test]
fn large_buffers_are_freed() {
    for compressor in available() {
        let mut compression = offering(&[compressor]);
        let message = request(&vec![0; 2 << 20]);
        compression.pack(&message, usize::MAX).unwrap();
        assert!(compression.packed.capacity() > 1 << 20);
        compression.release(1 << 20);
        assert_eq!(compression.packed.capacity(), 0);
        compression.pack(&request(b"x"), usize::MAX).unwrap();
        compression.release(1 << 20);
        assert!(compression.packed.capacity() > 0);
    }
}

fn check(compression: &mut Compression, bytes: &[u8], target: &mut Vec<u8>) {
    let limit = 1 << 16;
    if let Ok(length) = compression.unpack(bytes, limit, target) {
        assert!(length <= limit && length >= Header::MIN_REPLY_LENGTH);
        assert_eq!(target[..4], (length as i32).to_le_bytes());
    }
    assert!(target.len() <= limit);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_parsed_or_rejected(
        id in 0..5_u8,
        size in prop_oneof![0..400_i32, any::<i32>()],
        content in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut target = Vec::new();
        check(&mut all(), &frame(2013, size, id, &content), &mut target);
        check(&mut all(), &content, &mut target);
    }

    #[test]
    fn any_content_survives_a_round_trip(content in prop::collection::vec(0..6_u8, 0..2_000)) {
        let message = request(&content);
        let mut target = Vec::new();
        for compressor in available() {
            let mut compression = offering(&[compressor]);
            let packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
            let length = compression.unpack(&packed, LIMIT, &mut target).unwrap();
            prop_assert_eq!(&target[..length], &message[..]);
        }
    }

    #[test]
    fn a_corrupted_frame_is_parsed_or_rejected(
        content in prop::collection::vec(0..6_u8, 0..300),
        damage in damage(),
    ) {
        let message = request(&content);
        for compressor in available() {
            let mut compression = offering(&[compressor]);
            let mut packed = compression.pack(&message, usize::MAX).unwrap().to_vec();
            apply(&mut packed, &damage);
            let mut target = Vec::new();
            check(&mut compression, &packed, &mut target);
            // The connection can decompress the next message.
            let good = compression.pack(&message, usize::MAX).unwrap().to_vec();
            let length = compression.unpack(&good, LIMIT, &mut target).unwrap();
            prop_assert_eq!(&target[..length], &message[..]);
        }
    }
}
