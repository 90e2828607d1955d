//! Vectors: dense arrays of numbers in Binary subtype 9, for vector search.
//!
//! Specification:
//! <https://github.com/mongodb/specifications/blob/master/source/bson-binary-vector/bson-binary-vector.md>.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::spec::BinarySubtype;
use super::{Binary, Bson};

const INT8: u8 = 0x03;
const PACKED_BIT: u8 = 0x10;
const FLOAT32: u8 = 0x27;

/// A dense vector of numbers, stored as Binary subtype 9.
///
/// ```
/// use marula_driver::bson::{Binary, Vector};
///
/// let vector = Vector::Float32(vec![0.5, -1.25]);
/// let binary = Binary::from(&vector);
/// assert_eq!(Vector::try_from(&binary)?, vector);
/// # Ok::<(), marula_driver::bson::VectorError>(())
/// ```
///
/// Two vectors are equal if their bytes are equal: a NaN equals itself, and 0.0 differs from -0.0.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Vector {
    /// 8-bit signed integers (dtype INT8).
    Int8(Vec<i8>),
    /// 32-bit floating-point numbers (dtype FLOAT32).
    Float32(Vec<f32>),
    /// Bits, eight per byte (dtype PACKED_BIT).
    PackedBit(PackedBits),
}

/// The bits of a [`Vector::PackedBit`]: bytes with the most significant bit first, and the padding,
/// the number of unused bits in the last byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PackedBits {
    bytes: Vec<u8>,
    padding: u8,
}

/// Binary data that is not a [`Vector`], or invalid packed bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorError {
    /// The Binary has this subtype instead of 9.
    Subtype(u8),
    /// The data is shorter than its two bytes of metadata.
    Header,
    /// The data has this unknown dtype.
    ElementType(u8),
    /// Invalid padding: more than 7, of another dtype than PACKED_BIT, or without a byte.
    Padding(u8),
    /// Unused bits of the last byte are not zero.
    UnusedBits,
    /// The data of a FLOAT32 vector has this length, which is not a multiple of 4.
    Length(usize),
}

impl fmt::Display for VectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subtype(subtype) => write!(f, "a vector is Binary subtype 9, found subtype {subtype}"),
            Self::Header => f.write_str("the vector lacks its header of two bytes"),
            Self::ElementType(kind) => write!(f, "the vector has the unknown element type {kind:#04x}"),
            Self::Padding(padding) => write!(f, "the vector cannot have {padding} unused bits"),
            Self::UnusedBits => f.write_str("unused bits of the vector's last byte are set"),
            Self::Length(len) => write!(f, "the vector's {len} bytes are no 32-bit numbers"),
        }
    }
}

impl std::error::Error for VectorError {}

impl PackedBits {
    /// Makes packed bits. The lowest `padding` bits of the last byte are unused.
    ///
    /// # Errors
    /// [`VectorError::Padding`] if more than 7 bits are unused, or `bytes` is empty and `padding`
    /// is not zero; [`VectorError::UnusedBits`] if an unused bit is not zero.
    pub fn new(bytes: Vec<u8>, padding: u8) -> Result<Self, VectorError> {
        let last = bytes.last().copied();
        if padding > 7 || (padding > 0 && last.is_none()) {
            return Err(VectorError::Padding(padding));
        }
        if last.is_some_and(|last| u32::from(padding) > last.trailing_zeros()) {
            return Err(VectorError::UnusedBits);
        }
        Ok(Self { bytes, padding })
    }

    /// The bytes. The unused bits of the last byte are zero.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of unused low bits in the last byte.
    #[must_use]
    pub fn padding(&self) -> u8 {
        self.padding
    }

    /// Number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() * 8 - usize::from(self.padding)
    }

    /// Whether there are no bits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bits in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        let bits = |byte: &u8| {
            let byte = *byte;
            (0..8).map(move |place| byte << place & 0x80 != 0)
        };
        self.bytes.iter().flat_map(bits).take(self.len())
    }
}

impl FromIterator<bool> for PackedBits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let mut packed = Self::default();
        for bit in bits {
            if packed.padding == 0 {
                packed.bytes.push(0);
                packed.padding = 8;
            }
            packed.padding -= 1;
            if let Some(last) = packed.bytes.last_mut() {
                *last |= u8::from(bit) << packed.padding;
            }
        }
        packed
    }
}

impl Vector {
    /// Decodes the data of a Binary of subtype 9.
    ///
    /// # Errors
    /// Every [`VectorError`] but [`VectorError::Subtype`].
    pub fn from_bytes(data: &[u8]) -> Result<Self, VectorError> {
        let [kind, padding, elements @ ..] = data else {
            return Err(VectorError::Header);
        };
        match *kind {
            INT8 | FLOAT32 if *padding != 0 => Err(VectorError::Padding(*padding)),
            INT8 => Ok(Self::Int8(
                elements.iter().map(|byte| byte.cast_signed()).collect(),
            )),
            FLOAT32 => match elements.as_chunks() {
                (numbers, []) => Ok(Self::Float32(
                    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect(),
                )),
                _ => Err(VectorError::Length(elements.len())),
            },
            PACKED_BIT => PackedBits::new(elements.to_vec(), *padding).map(Self::PackedBit),
            other => Err(VectorError::ElementType(other)),
        }
    }

    /// Encodes the data of a Binary of subtype 9.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Int8(numbers) => {
                let numbers = numbers.iter().map(|number| number.cast_unsigned());
                [INT8, 0].into_iter().chain(numbers).collect()
            }
            Self::Float32(numbers) => {
                let mut data = Vec::with_capacity(2 + numbers.len() * 4);
                data.extend_from_slice(&[FLOAT32, 0]);
                numbers
                    .iter()
                    .for_each(|number| data.extend_from_slice(&number.to_le_bytes()));
                data
            }
            Self::PackedBit(bits) => {
                let header = [PACKED_BIT, bits.padding].into_iter();
                header.chain(bits.bytes.iter().copied()).collect()
            }
        }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int8(numbers) => numbers.len(),
            Self::Float32(numbers) => numbers.len(),
            Self::PackedBit(bits) => bits.len(),
        }
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int8(a), Self::Int8(b)) => a == b,
            (Self::Float32(a), Self::Float32(b)) => a
                .iter()
                .map(|number| number.to_bits())
                .eq(b.iter().map(|number| number.to_bits())),
            (Self::PackedBit(a), Self::PackedBit(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Vector {}

impl TryFrom<&Binary> for Vector {
    type Error = VectorError;

    fn try_from(binary: &Binary) -> Result<Self, VectorError> {
        match binary.subtype {
            BinarySubtype::Vector => Self::from_bytes(&binary.bytes),
            other => Err(VectorError::Subtype(other.into())),
        }
    }
}

impl TryFrom<Binary> for Vector {
    type Error = VectorError;

    fn try_from(binary: Binary) -> Result<Self, VectorError> {
        Self::try_from(&binary)
    }
}

impl From<&Vector> for Binary {
    fn from(vector: &Vector) -> Self {
        Self {
            subtype: BinarySubtype::Vector,
            bytes: vector.to_bytes(),
        }
    }
}

impl From<Vector> for Binary {
    fn from(vector: Vector) -> Self {
        Self::from(&vector)
    }
}

impl From<Vector> for Bson {
    fn from(vector: Vector) -> Self {
        Self::Binary(vector.into())
    }
}

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Binary::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(&Binary::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{from_slice, to_vec};

    fn both_ways(vector: Vector, data: &[u8]) {
        assert_eq!(vector.to_bytes(), data);
        assert_eq!(Vector::from_bytes(data), Ok(vector));
    }

    #[test]
    fn vectors_go_both_ways() {
        both_ways(Vector::Int8(vec![127, 7, -128]), &[3, 0, 127, 7, 128]);
        both_ways(Vector::Int8(vec![]), &[3, 0]);
        both_ways(
            Vector::Float32(vec![127.0, f32::NEG_INFINITY]),
            &[0x27, 0, 0, 0, 0xfe, 0x42, 0, 0, 0x80, 0xff],
        );
        both_ways(Vector::Float32(vec![f32::NAN]), &[0x27, 0, 0, 0, 0xc0, 0x7f]);
        let bits = PackedBits::new(vec![238, 224], 4).unwrap();
        assert_eq!((bits.len(), bits.padding()), (12, 4));
        both_ways(Vector::PackedBit(bits), &[0x10, 4, 0xee, 0xe0]);
        both_ways(Vector::PackedBit(PackedBits::default()), &[0x10, 0]);
        assert_ne!(Vector::Float32(vec![0.0]), Vector::Float32(vec![-0.0]));
        assert_ne!(Vector::Int8(vec![]), Vector::Float32(vec![]));
    }

    #[test]
    fn bits_are_packed_from_the_most_significant() {
        let bits: Vec<bool> = "1110111011".chars().map(|bit| bit == '1').collect();
        let packed: PackedBits = bits.iter().copied().collect();
        assert_eq!(packed.bytes(), [0b1110_1110, 0b1100_0000]);
        assert_eq!((packed.padding(), packed.len()), (6, 10));
        assert_eq!(packed.iter().collect::<Vec<_>>(), bits);
        let full: PackedBits = std::iter::repeat_n(true, 16).collect();
        assert_eq!(PackedBits::new(vec![255, 255], 0), Ok(full));
        assert!(PackedBits::from_iter([]).is_empty());
    }

    #[test]
    fn bytes_other_than_a_vector_are_rejected() {
        for (data, error) in [
            (&[][..], VectorError::Header),
            (&[3], VectorError::Header),
            (&[3, 1, 0], VectorError::Padding(1)),
            (&[0x27, 3, 0, 0, 0, 0], VectorError::Padding(3)),
            (&[0x27, 0, 0, 0, 0], VectorError::Length(3)),
            (&[0x27, 0, 0, 0, 0, 0, 0], VectorError::Length(5)),
            (&[0x10, 1], VectorError::Padding(1)),
            (&[0x10, 8, 0], VectorError::Padding(8)),
            (&[0x10, 7, 0xff], VectorError::UnusedBits),
            (&[0x10, 255, 0], VectorError::Padding(255)),
            (&[0x11, 0, 0], VectorError::ElementType(0x11)),
        ] {
            assert_eq!(Vector::from_bytes(data), Err(error), "{data:?}");
        }
        let binary = Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![3, 0],
        };
        assert_eq!(Vector::try_from(&binary), Err(VectorError::Subtype(0)));
    }

    #[test]
    fn vectors_are_fields_of_structs() {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct Tree {
            embedding: Vector,
        }
        let tree = Tree {
            embedding: Vector::Int8(vec![1, -1]),
        };
        let bytes = to_vec(&tree).unwrap();
        assert_eq!(bytes, b"\x19\0\0\0\x05embedding\0\x04\0\0\0\x09\x03\0\x01\xff\0");
        assert_eq!(from_slice::<Tree>(&bytes).unwrap(), tree);
        let wrong = b"\x17\0\0\0\x05embedding\0\x02\0\0\0\x09\x04\0\0";
        let error = from_slice::<Tree>(wrong).unwrap_err().to_string();
        assert!(error.contains("unknown element type 0x04"), "{error}");
    }
}
