//! Zlib: deflate with its header and checksum.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{Codec, wrong_size};

/// Two bits can repeat at most 258 earlier bytes.
const MOST_PER_BYTE: usize = 1_032;

/// Zlib.
pub(super) struct Zlib;

impl Codec for Zlib {
    type Packer = Compress;
    type Unpacker = Decompress;

    fn packer(level: i32) -> Result<Compress, String> {
        let level = match u32::try_from(level) {
            Ok(level) => Compression::new(level.min(9)),
            Err(_) => Compression::default(),
        };
        Ok(Compress::new(level, true))
    }

    fn unpacker() -> Result<Decompress, String> {
        Ok(Decompress::new(true))
    }

    fn bound(size: usize) -> usize {
        // Of the library's stored blocks and of codes that fit badly; generous, since it is memory that is kept anyway.
        size + size / 8 + 256
    }

    fn compress(packer: &mut Compress, content: &[u8], target: &mut [u8]) -> Result<usize, String> {
        packer.reset();
        match packer.compress(content, target, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Ok(usize::try_from(packer.total_out()).unwrap_or(usize::MAX)),
            Ok(_) => Err("the compressed bytes take more room than they should".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check(content: &[u8], size: usize) -> Result<(), String> {
        if size > content.len().saturating_mul(MOST_PER_BYTE) {
            return Err(format!("{} bytes cannot become {size}", content.len()));
        }
        Ok(())
    }

    fn decompress(unpacker: &mut Decompress, content: &[u8], target: &mut [u8]) -> Result<(), String> {
        unpacker.reset(true);
        let status = unpacker
            .decompress(content, target, FlushDecompress::Finish)
            .map_err(|error| error.to_string())?;
        let count = |total: u64| usize::try_from(total).unwrap_or(usize::MAX);
        let (read, written) = (count(unpacker.total_in()), count(unpacker.total_out()));
        match status {
            Status::StreamEnd if written != target.len() => Err(wrong_size(written, target.len())),
            Status::StreamEnd if read < content.len() => {
                Err(format!("{} bytes follow its end", content.len() - read))
            }
            Status::StreamEnd => Ok(()),
            _ if written == target.len() && read < content.len() => Err(wrong_size("more", target.len())),
            _ => Err("it ends too early".to_owned()),
        }
    }
}
