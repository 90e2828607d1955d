//! DER (X.690) for certificates and OCSP, by crate `der`.
//!
//! Fields are borrowed from the input, since signatures are verified over the encoded values. The
//! types of crates x509-cert and x509-ocsp own decoded values, and reject certificates for fields
//! that are not needed here.

pub(super) use der::Tag;
use der::{
    AnyRef, Decode, Encode, Reader, SliceReader, TagNumber,
    asn1::{GeneralizedTime, UtcTime},
};

/// The bytes are not DER, or not of the expected structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl From<der::Error> for Malformed {
    fn from(_: der::Error) -> Self {
        Self
    }
}

pub(super) type Result<T> = std::result::Result<T, Malformed>;

/// The tag of an explicit `[number]`.
pub(super) const fn explicit(number: TagNumber) -> Tag {
    Tag::ContextSpecific {
        constructed: true,
        number,
    }
}

/// The tag of an implicit `[number]` of a primitive value.
pub(super) const fn implicit(number: TagNumber) -> Tag {
    Tag::ContextSpecific {
        constructed: false,
        number,
    }
}

/// Reads the values of a sequence.
#[derive(Clone)]
pub(super) struct Fields<'a>(SliceReader<'a>);

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self(SliceReader::new(bytes)?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_finished()
    }

    /// Tag and content of the next value.
    pub(super) fn any(&mut self) -> Result<(Tag, &'a [u8])> {
        let value = AnyRef::decode(&mut self.0)?;
        Ok((der::Tagged::tag(&value), value.value()))
    }

    /// The next value, including tag and length.
    pub(super) fn whole(&mut self) -> Result<&'a [u8]> {
        Ok(self.0.tlv_bytes()?)
    }

    /// The content of the next value, which must have this tag.
    pub(super) fn value(&mut self, expected: Tag) -> Result<&'a [u8]> {
        match self.any()? {
            (tag, value) if tag == expected => Ok(value),
            _ => Err(Malformed),
        }
    }

    /// The content of the next value, if it has this tag.
    pub(super) fn optional(&mut self, expected: Tag) -> Result<Option<&'a [u8]>> {
        if self.is_empty() || self.0.peek_tag()? != expected {
            return Ok(None);
        }
        self.value(expected).map(Some)
    }

    /// The fields of the next value, which must be a sequence.
    pub(super) fn sequence(&mut self) -> Result<Self> {
        Self::new(self.value(Tag::Sequence)?)
    }

    /// The bytes of the next value, which must be a BIT STRING without unused bits.
    pub(super) fn bits(&mut self) -> Result<&'a [u8]> {
        match self.value(Tag::BitString)?.split_first() {
            Some((0, bits)) => Ok(bits),
            _ => Err(Malformed),
        }
    }

    /// The next value, a UTCTime or GeneralizedTime, in seconds since 1970.
    pub(super) fn time(&mut self) -> Result<u64> {
        let value = AnyRef::decode(&mut self.0)?;
        let since = match der::Tagged::tag(&value) {
            Tag::GeneralizedTime => value.decode_as::<GeneralizedTime>()?.to_unix_duration(),
            Tag::UtcTime => value.decode_as::<UtcTime>()?.to_unix_duration(),
            _ => return Err(Malformed),
        };
        Ok(since.as_secs())
    }

    /// Fails if another value follows.
    pub(super) fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// The fields of a sequence that fills `bytes`.
pub(super) fn only_sequence(bytes: &[u8]) -> Result<Fields<'_>> {
    let mut outer = Fields::new(bytes)?;
    let inner = outer.sequence()?;
    outer.end()?;
    Ok(inner)
}

/// One extension of a certificate or of a response.
pub(super) struct Extension<'a> {
    pub(super) oid: &'a [u8],
    pub(super) critical: bool,
    pub(super) value: &'a [u8],
}

/// The extensions in a `SEQUENCE OF Extension`.
pub(super) fn extensions(bytes: &[u8]) -> Result<Vec<Extension<'_>>> {
    let mut list = only_sequence(bytes)?;
    let mut found = Vec::new();
    while !list.is_empty() {
        let mut fields = list.sequence()?;
        found.push(Extension {
            oid: fields.value(Tag::ObjectIdentifier)?,
            critical: fields.optional(Tag::Boolean)?.is_some_and(|value| value != [0]),
            value: fields.value(Tag::OctetString)?,
        });
    }
    Ok(found)
}

/// A time in the format of RFC 3339.
pub(super) fn readable(seconds: u64) -> String {
    match GeneralizedTime::from_unix_duration(std::time::Duration::from_secs(seconds)) {
        Ok(time) => time.to_date_time().to_string(),
        Err(_) => format!("second {seconds}"),
    }
}

/// Encodes a value: tag, length, content.
pub(super) fn encode(tag: Tag, content: &[u8]) -> Result<Vec<u8>> {
    Ok(AnyRef::new(tag, content)?.to_der()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        for (length, head) in [
            (0, &[4, 0][..]),
            (127, &[4, 127]),
            (128, &[4, 0x81, 128]),
            (255, &[4, 0x81, 255]),
            (256, &[4, 0x82, 1, 0]),
            (65_536, &[4, 0x83, 1, 0, 0]),
        ] {
            let content = vec![7; length];
            let whole = encode(Tag::OctetString, &content).unwrap();
            assert_eq!(&whole[..head.len()], head);
            let mut fields = Fields::new(&whole).unwrap();
            assert_eq!(fields.value(Tag::OctetString).unwrap(), content);
            fields.end().unwrap();
        }
    }

    #[test]
    fn times_of_both_forms_are_read() {
        let general = encode(Tag::GeneralizedTime, b"20260102030405Z").unwrap();
        let short = encode(Tag::UtcTime, b"260102030405Z").unwrap();
        let second = Fields::new(&general).unwrap().time().unwrap();
        assert_eq!(Fields::new(&short).unwrap().time().unwrap(), second);
        assert_eq!(readable(second), "2026-01-02T03:04:05Z");
        for wrong in [
            encode(Tag::GeneralizedTime, b"20261302030405Z"),
            encode(Tag::GeneralizedTime, b"2026"),
            encode(Tag::UtcTime, b"20260102030405Z"),
            encode(Tag::OctetString, b"x"),
        ] {
            assert_eq!(Fields::new(&wrong.unwrap()).unwrap().time(), Err(Malformed));
        }
    }
}
