//! Views of bytes that are passed to the library and returned by it.

use std::{collections::HashSet, marker::PhantomData, ops::RangeFrom, ptr, ptr::NonNull, slice};

use zeroize::Zeroizing;

use crate::{
    document,
    error::Error,
    functions::{Functions, RawBinary},
};

/// The most data keys of the values of one document: the library's time is quadratic in their number, and below a second for
/// this one.
const MAX_KEYS: usize = 10_000;
/// Where the id of the data key is in an encrypted value.
const KEY_ID: RangeFrom<usize> = 1..;
const KEY_ID_LENGTH: usize = 16;
/// The first byte of values of inserts and updates, which contain the id elsewhere. The server does not store them.
const PAYLOADS: [u8; 2] = [4, 11];

/// A `mongocrypt_binary_t`, destroyed when dropped. The bytes that it refers to are not owned by it.
pub(crate) struct Binary<'a> {
    functions: &'static Functions,
    pointer: NonNull<RawBinary>,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> Binary<'a> {
    /// A view of an argument. The library only reads it, during the call that it is passed to: its
    /// documentation states for each function that "the viewed data is copied".
    pub(crate) fn input(functions: &'static Functions, bytes: &'a [u8]) -> Result<Self, Error> {
        let length = u32::try_from(bytes.len())
            .map_err(|_| Error::client("an argument of libmongocrypt is longer than 4 GiB"))?;
        // SAFETY: pointer and length describe a slice that is alive for 'a, and arguments are not written to.
        let pointer = unsafe { (functions.binary_new_from_data)(bytes.as_ptr().cast_mut(), length) };
        Self::new(functions, pointer)
    }

    /// As [`input`](Self::input), for a document, which is checked.
    ///
    /// # Errors
    /// [`Malformed`](crate::ErrorKind::Malformed)
    pub(crate) fn document(functions: &'static Functions, bytes: &'a [u8]) -> Result<Self, Error> {
        document::check(bytes, &mut |_| {})?;
        Self::input(functions, bytes)
    }

    /// As [`document`](Self::document), for one whose values are decrypted.
    ///
    /// # Errors
    /// As above, and [`Client`](crate::ErrorKind::Client) if the values have more than [`MAX_KEYS`] data keys.
    pub(crate) fn encrypted(functions: &'static Functions, bytes: &'a [u8]) -> Result<Self, Error> {
        let (mut keys, mut payloads) = (HashSet::new(), 0);
        document::check(bytes, &mut |value| {
            if value.first().is_some_and(|kind| PAYLOADS.contains(kind)) {
                payloads += 1;
            } else if let Some(key) = value.get(KEY_ID).and_then(<[u8]>::first_chunk::<KEY_ID_LENGTH>)
                && keys.len() <= MAX_KEYS
            {
                keys.insert(*key);
            }
        })?;
        if keys.len() + payloads > MAX_KEYS {
            return Err(Error::client(format!(
                "the values have more than {MAX_KEYS} data keys; read fewer documents at a time (batch_size)"
            )));
        }
        Self::input(functions, bytes)
    }

    /// An empty view, for a function that sets it.
    pub(crate) fn output(functions: &'static Functions) -> Result<Self, Error> {
        // SAFETY: the function has no arguments and no precondition.
        let pointer = unsafe { (functions.binary_new)() };
        Self::new(functions, pointer)
    }

    fn new(functions: &'static Functions, pointer: *mut RawBinary) -> Result<Self, Error> {
        let pointer =
            NonNull::new(pointer).ok_or_else(|| Error::client("libmongocrypt could not allocate memory"))?;
        Ok(Self {
            functions,
            pointer,
            bytes: PhantomData,
        })
    }

    pub(crate) fn as_ptr(&self) -> *mut RawBinary {
        self.pointer.as_ptr()
    }

    /// Copies the bytes that a function has set. They may contain secrets, so the copy is zeroed when dropped.
    ///
    /// # Safety
    /// The bytes must be alive: the object that returned them has not been changed or destroyed since.
    pub(crate) unsafe fn copy(&self) -> Zeroizing<Vec<u8>> {
        // SAFETY: the view is alive, and the caller guarantees that its bytes are.
        unsafe { copy_of(self.functions, self.as_ptr()) }
    }
}

impl Drop for Binary<'_> {
    fn drop(&mut self) {
        // SAFETY: the view was created by the library and is destroyed once. This does not touch the bytes.
        unsafe { (self.functions.binary_destroy)(self.as_ptr()) };
    }
}

/// Copies the bytes of a view.
///
/// # Safety
/// `binary` must point to a view, and the bytes that it refers to must be alive and initialized.
pub(crate) unsafe fn copy_of(functions: &Functions, binary: *const RawBinary) -> Zeroizing<Vec<u8>> {
    // SAFETY: the caller guarantees that it points to a view.
    let data = unsafe { (functions.binary_data)(binary) };
    // SAFETY: the same.
    let length = unsafe { (functions.binary_len)(binary) } as usize;
    if data.is_null() || length == 0 {
        return Zeroizing::default();
    }
    // SAFETY: the view describes this number of bytes, which the caller guarantees to be alive and initialized;
    // nothing writes to them while they are copied, because each object is used by one thread at a time.
    let bytes = unsafe { slice::from_raw_parts(data, length) };
    Zeroizing::new(bytes.to_vec())
}

/// Writes to the bytes of a view. `false` if it is shorter than `bytes`.
///
/// # Safety
/// `binary` must point to a view whose bytes are alive and may be written to.
pub(crate) unsafe fn write_to(functions: &Functions, binary: *mut RawBinary, bytes: &[u8]) -> bool {
    // SAFETY: the caller guarantees that it points to a view.
    let data = unsafe { (functions.binary_data)(binary) };
    // SAFETY: the same.
    let length = unsafe { (functions.binary_len)(binary) } as usize;
    if data.is_null() || length < bytes.len() {
        return bytes.is_empty();
    }
    // SAFETY: the target has at least this number of bytes and may be written to; `bytes` is memory of this package, so
    // the two do not overlap.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
    true
}
