//! `$clusterTime` (Driver Sessions, "Gossipping the Cluster Time").

use crate::bson::{ElementType, RawDocument, RawDocumentBuf, Timestamp, find_element};

/// A `$clusterTime` document with its signature, as the server sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterTime {
    time: (u32, u32),
    document: RawDocumentBuf,
}

impl ClusterTime {
    /// The field `clusterTime` of the document: seconds, and a counter within the second.
    pub fn time_of(bytes: &[u8]) -> Option<(u32, u32)> {
        // The fast path: servers write the field first.
        const TYPE: u8 = ElementType::Timestamp as u8;
        if let [_, _, _, _, TYPE, rest @ ..] = bytes
            && let Some(rest) = rest.strip_prefix(b"clusterTime\0")
            && let Some([increment, time]) = rest.as_chunks().0.first_chunk()
        {
            return Some((u32::from_le_bytes(*time), u32::from_le_bytes(*increment)));
        }
        let element = find_element(bytes, "clusterTime").ok()??;
        let Timestamp { time, increment } = element.value.timestamp().ok()?;
        Some((time, increment))
    }

    /// A copy of the document, if it is newer than `current`.
    pub fn if_newer(bytes: &[u8], current: Option<&Self>) -> Option<Self> {
        let time = Self::time_of(bytes)?;
        if current.is_some_and(|current| current.time >= time) {
            return None;
        }
        let document = RawDocumentBuf::from_bytes(bytes.to_vec()).ok()?;
        Some(Self { time, document })
    }

    /// Replaces `newest` by the document if that is newer. Reuses the allocation.
    pub fn advance(newest: &mut Option<Self>, bytes: &[u8]) {
        let Some(time) = Self::time_of(bytes) else { return };
        let is_known = newest.as_ref().is_some_and(|newest| newest.time >= time);
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
            .map(|document| Self { time, document });
    }

    /// Whether this time is later.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.time > other.time
    }

    /// Seconds, and a counter within the second.
    pub fn time(&self) -> (u32, u32) {
        self.time
    }

    /// The document as the server sent it.
    pub fn document(&self) -> &RawDocument {
        &self.document
    }
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
        assert!(second.is_newer_than(&first));
    }

    #[test]
    fn the_time_is_found_wherever_it_is() {
        let (first, newer) = (time(7, 8), time(8, 7));
        let later = rawdoc! { "signature": {}, "clusterTime": Timestamp { time: 7, increment: 8 } };
        let taken = ClusterTime::if_newer(later.as_bytes(), None).unwrap();
        assert_eq!(taken.time, (7, 8));
        assert_eq!(
            ClusterTime::if_newer(first.as_bytes(), None).unwrap().time,
            (7, 8)
        );
        assert!(ClusterTime::if_newer(first.as_bytes(), Some(&taken)).is_none());
        assert_eq!(
            ClusterTime::if_newer(newer.as_bytes(), Some(&taken))
                .unwrap()
                .time,
            (8, 7)
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
        assert_eq!(newest.as_ref().map(|newest| newest.time), Some((6, 0)));
    }

    #[test]
    fn nonsense_is_ignored() {
        assert!(ClusterTime::if_newer(rawdoc! { "clusterTime": 1 }.as_bytes(), None).is_none());
        assert!(ClusterTime::if_newer(&[1, 2, 3], None).is_none());
    }
}
