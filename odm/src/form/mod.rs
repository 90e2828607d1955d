//! The parts of a value that are stored in another form than that of their `Serialize`: dates and
//! decimals of other crates, whose `Serialize` writes text.
//!
//! When a value is written, the derives list such parts with their stored form; see
//! [`raw_ids`](crate::bson::raw_ids). When it is read, a [`Form`] describes where they are in the
//! stored value, and [`decode`] gives them the form that their `Deserialize` reads.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};

mod conversion;
pub(crate) mod decode;
pub(crate) mod flattened;

pub(crate) use conversion::Conversion;
pub(crate) use conversion::Converted;

/// Returns the form of a type. A function, since the forms of recursive types are recursive.
pub type FormOf = fn() -> Form;

/// Where the converted parts are in the stored form of a type. A null is never converted.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// No part is converted.
    Plain,
    /// The value itself is converted.
    Value(Conversion),
    /// An array: the form of its elements.
    Elements(FormOf),
    /// A document with arbitrary names: the form of its values.
    Entries(FormOf),
    /// A document: the form of each field, by its stored name. Without a name: the form of a value
    /// whose fields are fields of this document.
    Fields(&'static [(Option<&'static str>, FormOf)]),
    /// A document whose form is determined by a tag.
    Tagged {
        /// The name of the field with the tag.
        tag: &'static str,
        /// The form of the whole document for each tag.
        variants: &'static [(&'static str, FormOf)],
        /// The forms of documents with other tags, or without one.
        others: &'static [FormOf],
    },
    /// One of several forms, which a stored value does not show.
    OneOf(&'static [FormOf]),
}

const UNKNOWN: u8 = 0;
const PLAIN: u8 = 1;
const CONVERTED: u8 = 2;

thread_local! {
    /// Whether this thread searches a form. The forms of the parts are then returned without a search
    /// of their own, which for a recursive type would not end.
    static SEARCHES: Cell<bool> = const { Cell::new(false) };
}

/// Whether a type has converted parts, determined once.
#[derive(Debug, Default)]
pub struct FormCell(AtomicU8);

impl FormCell {
    /// Not determined yet.
    #[must_use]
    pub const fn new() -> Self {
        FormCell(AtomicU8::new(UNKNOWN))
    }

    /// The form, or [`Form::Plain`] if it has no converted part.
    #[inline]
    pub fn form(&self, parts: FormOf) -> Form {
        match self.0.load(Ordering::Relaxed) {
            PLAIN => Form::Plain,
            CONVERTED => parts(),
            _ => self.determine(parts),
        }
    }

    #[cold]
    fn determine(&self, parts: FormOf) -> Form {
        let form = determined(parts);
        if !SEARCHES.get() {
            let state = if matches!(form, Form::Plain) {
                PLAIN
            } else {
                CONVERTED
            };
            self.0.store(state, Ordering::Relaxed);
        }
        form
    }
}

thread_local! {
    /// The types of which this thread determines whether they are whole.
    static DETERMINES: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Whether an enum is [whole](crate::Field::is_whole), determined once. An enum within itself does not
/// count.
#[derive(Debug, Default)]
pub struct WholeCell(AtomicU8);

impl WholeCell {
    /// Not determined yet.
    #[must_use]
    pub const fn new() -> Self {
        WholeCell(AtomicU8::new(UNKNOWN))
    }

    /// Whether one of the contents is whole.
    #[inline]
    pub fn is_whole(&self, contents: &[fn() -> bool]) -> bool {
        match self.0.load(Ordering::Relaxed) {
            PLAIN => false,
            CONVERTED => true,
            _ => self.determine(contents),
        }
    }

    #[cold]
    fn determine(&self, contents: &[fn() -> bool]) -> bool {
        let address = std::ptr::from_ref(self).addr();
        if DETERMINES.with_borrow(|all| all.contains(&address)) {
            return false;
        }
        DETERMINES.with_borrow_mut(|all| all.push(address));
        let is_whole = contents.iter().any(|content| content());
        let is_outermost = DETERMINES.with_borrow_mut(|all| {
            all.pop();
            all.is_empty()
        });
        // The result for an enum within another one assumes that the other one is not whole.
        if is_outermost {
            let state = if is_whole { CONVERTED } else { PLAIN };
            self.0.store(state, Ordering::Relaxed);
        }
        is_whole
    }
}

/// As [`FormCell::form`], for a type with parameters, of which a static variable would be shared by
/// all of its instances.
#[must_use]
pub fn of_generic(parts: FormOf) -> Form {
    // By function: two types of which the compiler merged the functions have the same form.
    static KNOWN: LazyLock<RwLock<HashMap<usize, bool>>> = LazyLock::new(RwLock::default);
    if SEARCHES.get() {
        return parts();
    }
    let key = parts as usize;
    let known = KNOWN
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&key)
        .copied();
    match known {
        Some(true) => parts(),
        Some(false) => Form::Plain,
        None => {
            let form = determined(parts);
            let is_converted = !matches!(form, Form::Plain);
            KNOWN
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key, is_converted);
            form
        }
    }
}

fn determined(parts: FormOf) -> Form {
    if SEARCHES.get() {
        return parts();
    }
    SEARCHES.set(true);
    let is_converted = search(parts);
    SEARCHES.set(false);
    if is_converted { parts() } else { Form::Plain }
}

/// Searches all parts of a form for a conversion.
fn search(form: FormOf) -> bool {
    let (mut seen, mut open) = (vec![form as usize], vec![form]);
    while let Some(next) = open.pop() {
        let mut add = |part: FormOf| {
            if !seen.contains(&(part as usize)) {
                seen.push(part as usize);
                open.push(part);
            }
        };
        match next() {
            Form::Plain => {}
            Form::Value(_) => return true,
            Form::Elements(part) | Form::Entries(part) => add(part),
            Form::Fields(fields) => fields.iter().for_each(|(_, part)| add(*part)),
            Form::Tagged { variants, others, .. } => {
                variants.iter().for_each(|(_, part)| add(*part));
                others.iter().for_each(|part| add(*part));
            }
            Form::OneOf(parts) => parts.iter().for_each(|part| add(*part)),
        }
    }
    false
}
