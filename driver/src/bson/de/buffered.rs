//! Binary data behind serde's buffer.
//!
//! `flatten` and the internally tagged, adjacently tagged and untagged enums first copy a value
//! into serde's own buffer, which knows bytes and maps but no subtypes, and read it from there.
//! There crate bson's `Binary` needs a map to keep its subtype, whereas `uuid::Uuid` takes only
//! bytes. Nothing tells in advance which of the two will read a field. So binary data with a subtype
//! goes in as a map; if then a reader of UUIDs meets a map, the document is decoded again, with a
//! byte string of a telling length in place of each such field, until the errors of these readers
//! have named their fields; these get their bytes in the last run. All this costs a document nothing
//! unless it has such a field and such a reader.

use std::cell::{Cell, RefCell};

use super::Context;
use crate::bson::error::DecodeError;
use crate::bson::spec::BinarySubtype;

/// How often a document is decoded at most to find the fields that hold UUIDs.
const MAX_RUNS: usize = 32;
/// Marks are longer than this, which no reader of fixed-size bytes expects; they are not UTF-8, so
/// that no reader of strings takes them.
const MARK_BASE: usize = 4096;
const MAX_MARKS: usize = 1024;
static MARKS: [u8; MARK_BASE + MAX_MARKS] = [0xff; MARK_BASE + MAX_MARKS];

/// What becomes of binary data in serde's buffer during one run.
#[derive(Default)]
pub(super) struct Plan {
    /// Whether any binary data with a subtype went into the buffer.
    used: Cell<bool>,
    /// The fields met, in the order of their marks, if this run searches.
    marked: Option<RefCell<Vec<Vec<u8>>>>,
    /// The fields known to be read as UUIDs.
    uuids: Vec<Vec<u8>>,
    /// Whether readers of bytes, too, get bytes.
    all_bytes: bool,
}

/// The form of one piece of binary data.
pub(super) enum Form<'de> {
    Map,
    Bytes(&'de [u8]),
}

impl<'de> Context<'de, '_> {
    /// The form in which a reader that asked for anything gets binary data with a subtype.
    pub(super) fn form_of(&self, subtype: BinarySubtype, bytes: &'de [u8], reader: &str) -> Form<'de> {
        let buffers = reader.ends_with("Content") || reader.contains("Content<");
        if !buffers {
            return Form::Map;
        }
        let plan = self.plan;
        if !plan.used.replace(true) {
            probe::forget();
        }
        if plan.all_bytes {
            return Form::Bytes(bytes);
        }
        if subtype != BinarySubtype::Uuid || (plan.uuids.is_empty() && plan.marked.is_none()) {
            return Form::Map;
        }
        let field = self.field_of(bytes);
        if plan.uuids.contains(&field) {
            return Form::Bytes(bytes);
        }
        let Some(marked) = &plan.marked else {
            return Form::Map;
        };
        let mut marked = marked.borrow_mut();
        let index = marked
            .iter()
            .position(|known| *known == field)
            .unwrap_or_else(|| {
                marked.push(field);
                marked.len() - 1
            });
        match MARKS.get(..MARK_BASE + index) {
            Some(mark) => Form::Bytes(mark),
            None => Form::Map,
        }
    }

    /// The name of the field that holds these bytes, from what precedes them in the input. The
    /// elements of an array count as one field.
    fn field_of(&self, bytes: &[u8]) -> Vec<u8> {
        let header = 4 + 1;
        let end = self.offset_of(bytes).saturating_sub(header);
        let before = self.input.get(..end).unwrap_or_default();
        let Some((0, before)) = before.split_last() else {
            return Vec::new();
        };
        let start = before
            .iter()
            .rposition(|byte| *byte == 5 || *byte == 0)
            .map_or(0, |at| at + 1);
        let name = before.get(start..).unwrap_or_default();
        let is_index = !name.is_empty() && name.iter().all(u8::is_ascii_digit);
        if is_index { b"[]".to_vec() } else { name.to_vec() }
    }
}

/// Runs one decoding, again if the form of binary data turns out to be wrong for its readers.
#[inline]
pub(super) fn decode<'de, T>(
    input: &'de [u8],
    run: impl Fn(&Context<'de, '_>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let plan = Plan::default();
    let result = run(&Context { input, plan: &plan });
    if plan.used.get() && probe::map_refused() {
        return decode_again(input, &run, result);
    }
    result
}

#[cold]
fn decode_again<'de, T>(
    input: &'de [u8],
    run: &dyn Fn(&Context<'de, '_>) -> Result<T, DecodeError>,
    first: Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let mut uuids: Vec<Vec<u8>> = Vec::new();
    for _ in 0..MAX_RUNS {
        let plan = Plan {
            marked: Some(RefCell::default()),
            uuids: uuids.clone(),
            ..Plan::default()
        };
        // Only the errors are of interest, and they are noted when they are made.
        let _ = run(&Context { input, plan: &plan });
        let marked = plan.marked.map(RefCell::into_inner).unwrap_or_default();
        let before = uuids.len();
        for index in probe::marks() {
            if let Some(field) = marked.get(index)
                && !uuids.contains(field)
            {
                uuids.push(field.clone());
            }
        }
        if uuids.len() == before {
            break;
        }
    }
    if !uuids.is_empty() {
        let plan = Plan {
            uuids,
            ..Plan::default()
        };
        return run(&Context { input, plan: &plan });
    }
    if first.is_ok() || !probe::bytes_wanted() {
        return first;
    }
    let plan = Plan {
        all_bytes: true,
        ..Plan::default()
    };
    run(&Context { input, plan: &plan }).or(first)
}

/// What readers' errors tell, noted where they are made: serde may drop them on their way.
pub(super) mod probe {
    use super::{Cell, MARK_BASE, MAX_MARKS, RefCell};

    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
        static MAP_REFUSED: Cell<bool> = const { Cell::new(false) };
        static BYTES_WANTED: Cell<bool> = const { Cell::new(false) };
        static FOUND: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    /// Whether errors are made only to be dropped.
    #[inline]
    pub(in crate::bson::de) fn is_quiet() -> bool {
        QUIET.get()
    }

    /// Makes errors cost nothing until the guard is dropped.
    pub(in crate::bson::de) fn quiet() -> Quiet {
        Quiet {
            before: QUIET.replace(true),
        }
    }

    /// Ends the time of quiet.
    pub(in crate::bson::de) struct Quiet {
        before: bool,
    }

    impl Drop for Quiet {
        fn drop(&mut self) {
            QUIET.set(self.before);
        }
    }

    pub(super) fn forget() {
        MAP_REFUSED.set(false);
        FOUND.with_borrow_mut(Vec::clear);
    }

    pub(super) fn map_refused() -> bool {
        MAP_REFUSED.get()
    }

    pub(super) fn bytes_wanted() -> bool {
        BYTES_WANTED.get()
    }

    pub(super) fn marks() -> Vec<usize> {
        FOUND.take()
    }

    /// A reader met a map that could have been binary data.
    pub(in crate::bson::de) fn note_map_refused(expected: &str) {
        let wants_bytes = expected.contains("byte");
        if expected.contains("UUID") || wants_bytes {
            MAP_REFUSED.set(true);
            BYTES_WANTED.set(wants_bytes);
        }
    }

    /// A reader met bytes of a wrong length.
    pub(in crate::bson::de) fn note_length(len: usize) {
        if let Some(index) = len.checked_sub(MARK_BASE)
            && index < MAX_MARKS
        {
            FOUND.with_borrow_mut(|found| {
                if found.len() < MAX_MARKS {
                    found.push(index);
                }
            });
        }
    }

    /// A reader has its own words for bytes of a wrong length, which end in that length.
    pub(in crate::bson::de) fn note_message(message: &str) {
        let tail = message.trim_end_matches(|character: char| character.is_ascii_digit());
        if let Some(digits) = message.get(tail.len()..)
            && digits.len() <= 6
            && message.contains("length")
            && let Ok(len) = digits.parse()
        {
            note_length(len);
        }
    }
}
