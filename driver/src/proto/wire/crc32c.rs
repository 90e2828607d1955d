//! CRC-32C (Castagnoli), the optional checksum of OP_MSG.

const POLYNOMIAL: u32 = 0x82F6_3B78; // reversed

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                (value >> 1) ^ POLYNOMIAL
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

/// The CRC-32C of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        let index = (crc ^ u32::from(*byte)) & 0xFF;
        (crc >> 8) ^ TABLE.get(index as usize).copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_algorithm() {
        assert_eq!(super::crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(super::crc32c(b""), 0);
    }
}
