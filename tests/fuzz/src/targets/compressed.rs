//! The fuzz target for OP_COMPRESSED messages.

use marula_driver::{
    bson::{doc, to_vec},
    internals::wire::{Compression, CompressionSettings, HEADER_LENGTH, Header, MessageWriter, parse_op_msg},
    options::Compressor,
};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "compressed",
    run,
    seeds,
};

const ALL: [Compressor; 3] = [Compressor::Snappy, Compressor::Zlib, Compressor::Zstd];
/// Maximum message size of the server.
const LIMIT: usize = 1 << 20;

fn run(bytes: &[u8]) {
    let mut compression = Compression::new(CompressionSettings::new(&ALL, None));
    let mut target = Vec::new();
    let Ok(length) = compression.unpack(bytes, LIMIT, &mut target) else {
        assert!(
            target.len() <= LIMIT,
            "a decompressed message exceeds the maximum message size"
        );
        return;
    };
    assert!(length <= LIMIT && target.len() == length);
    let header = target.first_chunk::<HEADER_LENGTH>().expect("a header");
    let header = Header::parse(header, LIMIT).expect("the header of a message");
    assert_eq!((header.length, header.compressed), (length, false));
    if parse_op_msg(&target).is_err() {
        return;
    }
    // Compresses and decompresses the message again, which must not change it.
    for compressor in ALL {
        compression.choose(Some(compressor));
        let packed = compression
            .pack(&target, usize::MAX)
            .expect("compressed")
            .to_vec();
        if packed == target {
            continue;
        }
        let mut again = Vec::new();
        let length = compression
            .unpack(&packed, LIMIT, &mut again)
            .expect("decompressed");
        assert_eq!(
            again.get(..length),
            Some(&*target),
            "{compressor:?} changed the message"
        );
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for body in [doc! { "ok": 1 }, doc! { "ok": 1, "text": "abc".repeat(100) }] {
        let mut message = Vec::new();
        let writer = MessageWriter::begin(&mut message, 7, LIMIT);
        writer.buffer.extend(to_vec(&body).expect("a document"));
        writer.finish().expect("a message");
        for compressor in ALL {
            let mut compression = Compression::new(CompressionSettings::new(&[compressor], None));
            compression.choose(Some(compressor));
            seeds.push(compression.pack(&message, LIMIT).expect("compressed").to_vec());
        }
        // Compressor id 0 (noop).
        let mut frame = message.get(..HEADER_LENGTH).unwrap_or_default().to_vec();
        let content = message.get(HEADER_LENGTH..).unwrap_or_default();
        frame.extend(2013_i32.to_le_bytes());
        frame.extend((content.len() as i32).to_le_bytes());
        frame.push(0);
        frame.extend(content);
        seeds.push(frame);
    }
    seeds
}
