//! DER, as far as certificates and OCSP need it: the crate `der` takes values apart, and a few lines put them together.

pub(super) use der::Tag;
use der::{
    AnyRef, Decode, Reader, SliceReader, TagNumber,
    asn1::{GeneralizedTime, UtcTime},
};

/// The bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl From<der::Error> for Malformed {
    fn from(_: der::Error) -> Self {
        Self
    }
}

pub(super) type Result<T> = std::result::Result<T, Malformed>;

/// `[number]` around another value.
pub(super) const fn explicit(number: TagNumber) -> Tag {
    Tag::ContextSpecific {
        constructed: true,
        number,
    }
}

/// `[number]` in place of the tag of a simple value.
pub(super) const fn implicit(number: TagNumber) -> Tag {
    Tag::ContextSpecific {
        constructed: false,
        number,
    }
}

/// The values in a sequence, one after the other.
#[derive(Clone)]
pub(super) struct Fields<'a>(SliceReader<'a>);

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self(SliceReader::new(bytes)?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_finished()
    }

    /// The next value, whatever it is.
    pub(super) fn any(&mut self) -> Result<(Tag, &'a [u8])> {
        let value = AnyRef::decode(&mut self.0)?;
        Ok((der::Tagged::tag(&value), value.value()))
    }

    /// The next value with its tag and length.
    pub(super) fn whole(&mut self) -> Result<&'a [u8]> {
        Ok(self.0.tlv_bytes()?)
    }

    /// The content of the next value, which has this tag.
    pub(super) fn value(&mut self, expected: Tag) -> Result<&'a [u8]> {
        match self.any()? {
            (tag, value) if tag == expected => Ok(value),
            _ => Err(Malformed),
        }
    }

    /// The same if the next value has this tag.
    pub(super) fn optional(&mut self, expected: Tag) -> Result<Option<&'a [u8]>> {
        if self.is_empty() || self.0.peek_tag()? != expected {
            return Ok(None);
        }
        self.value(expected).map(Some)
    }

    /// The fields of the next value, which is a sequence.
    pub(super) fn sequence(&mut self) -> Result<Self> {
        Self::new(self.value(Tag::Sequence)?)
    }

    /// The bits of the next value, which come in whole bytes.
    pub(super) fn bits(&mut self) -> Result<&'a [u8]> {
        match self.value(Tag::BitString)?.split_first() {
            Some((0, bits)) => Ok(bits),
            _ => Err(Malformed),
        }
    }

    /// The next value as seconds since 1970, in either form that certificates use.
    pub(super) fn time(&mut self) -> Result<u64> {
        let value = AnyRef::decode(&mut self.0)?;
        let since = match der::Tagged::tag(&value) {
            Tag::GeneralizedTime => value.decode_as::<GeneralizedTime>()?.to_unix_duration(),
            Tag::UtcTime => value.decode_as::<UtcTime>()?.to_unix_duration(),
            _ => return Err(Malformed),
        };
        Ok(since.as_secs())
    }

    /// Nothing follows.
    pub(super) fn end(&self) -> Result<()> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(Malformed),
        }
    }
}

/// One sequence, and nothing after it.
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

/// All of them, from `SEQUENCE OF Extension`.
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

/// A time as people read it.
pub(super) fn readable(seconds: u64) -> String {
    match GeneralizedTime::from_unix_duration(std::time::Duration::from_secs(seconds)) {
        Ok(time) => time.to_date_time().to_string(),
        Err(_) => format!("second {seconds}"),
    }
}

pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;

/// A value with its tag and length.
pub(super) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut whole = vec![tag];
    let length = content.len();
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => whole.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let significant = bytes.iter().skip_while(|byte| **byte == 0);
            whole.push(0x80 | significant.clone().count() as u8);
            whole.extend(significant);
        }
    }
    whole.extend_from_slice(content);
    whole
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
            let whole = tlv(OCTET_STRING, &content);
            assert_eq!(&whole[..head.len()], head);
            let mut fields = Fields::new(&whole).unwrap();
            assert_eq!(fields.value(Tag::OctetString).unwrap(), content);
            fields.end().unwrap();
        }
    }

    #[test]
    fn times_of_both_forms_are_read() {
        let general = tlv(0x18, b"20260102030405Z");
        let short = tlv(0x17, b"260102030405Z");
        let second = Fields::new(&general).unwrap().time().unwrap();
        assert_eq!(Fields::new(&short).unwrap().time().unwrap(), second);
        assert_eq!(readable(second), "2026-01-02T03:04:05Z");
        for wrong in [
            tlv(0x18, b"20261302030405Z"),
            tlv(0x18, b"2026"),
            tlv(0x17, b"20260102030405Z"),
            tlv(4, b"x"),
        ] {
            assert_eq!(Fields::new(&wrong).unwrap().time(), Err(Malformed));
        }
    }
}
