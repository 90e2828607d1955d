//! `$clusterTime` (Driver Sessions, "Gossipping the Cluster Time").

use crate::bson::{ElementType, RawDocument, RawDocumentBuf, Timestamp, find_element};

/// A `$clusterTime` document with its signature, as the server sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterTime {
    number: u64,
    document: RawDocumentBuf,
}

impl ClusterTime {
    /// The field `clusterTime` of the document as one number, in the order of the times: the seconds, and in the
    /// lower half a counter within the second.
    pub fn number_of(bytes: &[u8]) -> Option<u64> {
        // The fast path: servers write the field first.
        const TYPE: u8 = ElementType::Timestamp as u8;
        if let [_, _, _, _, TYPE, rest @ ..] = bytes
            && let Some(rest) = rest.strip_prefix(b"clusterTime\0")
            && let Some([increment, time]) = rest.as_chunks().0.first_chunk()
        {
            return Some(number(u32::from_le_bytes(*time), u32::from_le_bytes(*increment)));
        }
        let element = find_element(bytes, "clusterTime").ok()??;
        let Timestamp { time, increment } = element.value.timestamp().ok()?;
        Some(number(time, increment))
    }

    /// A copy of the document, if it is newer than `current`.
    pub fn if_newer(bytes: &[u8], current: Option<&Self>) -> Option<Self> {
        let number = Self::number_of(bytes)?;
        if current.is_some_and(|current| current.number >= number) {
            return None;
        }
        let document = RawDocumentBuf::from_bytes(bytes.to_vec()).ok()?;
        Some(Self { number, document })
    }

    /// Replaces `newest` by the document if that is newer. Reuses the allocation.
    pub fn advance(newest: &mut Option<Self>, bytes: &[u8]) {
        let Some(number) = Self::number_of(bytes) else {
            return;
        };
        let is_known = newest.as_ref().is_some_and(|newest| newest.number >= number);
        if is_known || RawDocument::from_bytes(bytes).is_err() {
            return;
        }
        let mut buffer = newest
            .take()
            .map_or_else(Vec::new, |old| old.document.into_bytes());
        buffer.clear();
        buffer.extend_from_slice(bytes);
        *newest = RawDocumentBuf::from_bytes(buffer)
            .ok()
            .map(|document| Self { number, document });
    }

    /// The time as [`number_of`](Self::number_of).
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The document as the server sent it.
    pub fn document(&self) -> &RawDocument {
        &self.document
    }
}

fn number(seconds: u32, increment: u32) -> u64 {
    u64::from(seconds) << 32 | u64::from(increment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    fn time(time: u32, increment: u32) -> RawDocumentBuf {
        rawdoc! { "clusterTime": Timestamp { time, increment }, "signature": { "keyId": 0_i64 } }
    }

    #[test]
    fn only_a_newer_time_is_taken() {
        let first = ClusterTime::if_newer(time(5, 2).as_bytes(), None).unwrap();
        assert!(ClusterTime::if_newer(time(5, 2).as_bytes(), Some(&first)).is_none());
        assert!(ClusterTime::if_newer(time(5, 1).as_bytes(), Some(&first)).is_none());
        let second = ClusterTime::if_newer(time(5, 3).as_bytes(), Some(&first)).unwrap();
        assert!(second.number() > first.number());
    }

    #[test]
    fn the_time_is_found_wherever_it_is() {
        let (first, newer) = (time(7, 8), time(8, 7));
        let later = rawdoc! { "signature": {}, "clusterTime": Timestamp { time: 7, increment: 8 } };
        let taken = ClusterTime::if_newer(later.as_bytes(), None).unwrap();
        assert_eq!(taken.number, number(7, 8));
        assert_eq!(
            ClusterTime::if_newer(first.as_bytes(), None).unwrap().number,
            number(7, 8)
        );
        assert!(ClusterTime::if_newer(first.as_bytes(), Some(&taken)).is_none());
        assert_eq!(
            ClusterTime::if_newer(newer.as_bytes(), Some(&taken))
                .unwrap()
                .number,
            number(8, 7)
        );
    }

    #[test]
    fn a_newer_time_takes_the_place_of_the_older() {
        let mut newest = None;
        for (seen, expected) in [
            ((5, 2), (5, 2)),
            ((5, 1), (5, 2)),
            ((5, 2), (5, 2)),
            ((6, 0), (6, 0)),
        ] {
            let (seen, expected) = (time(seen.0, seen.1), time(expected.0, expected.1));
            ClusterTime::advance(&mut newest, seen.as_bytes());
            assert_eq!(newest.as_ref().map(ClusterTime::document), Some(&*expected));
        }
        ClusterTime::advance(&mut newest, &[1, 2, 3]);
        let mut cut = time(7, 0).into_bytes();
        cut.pop();
        ClusterTime::advance(&mut newest, &cut);
        assert_eq!(newest.as_ref().map(ClusterTime::number), Some(number(6, 0)));
    }

    #[test]
    fn nonsense_is_ignored() {
        assert!(ClusterTime::if_newer(rawdoc! { "clusterTime": 1 }.as_bytes(), None).is_none());
        assert!(ClusterTime::if_newer(&[1, 2, 3], None).is_none());
    }
}
