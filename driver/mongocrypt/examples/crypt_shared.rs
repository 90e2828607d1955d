//! A stand-in for MongoDB's library `crypt_shared`, for tests: the functions of its header `mongo_crypt-v1.h`, around the
//! analysis of `marula-query-analysis`.
//!
//! It is built as a dynamic library, which libmongocrypt loads from `cryptSharedLibPath`. It is part of this package because
//! no other one has `unsafe` code; the package that is published does not contain it. A panic of the analysis becomes an
//! error in the status of the call.

use std::{
    error::Error,
    ffi::{CString, c_char, c_int},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    ptr, slice,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use bson::{Document, deserialize_from_slice, serialize_to_vec};
use marula_query_analysis::Rejection;

/// `mongo_crypt_v1_error`
const SUCCESS: c_int = 0;
const EXCEPTION: c_int = 2;
const LIBRARY_ALREADY_INITIALIZED: c_int = 3;
const LIBRARY_NOT_INITIALIZED: c_int = 4;
const INVALID_LIB_HANDLE: c_int = 5;
/// The codes of MongoDB for an error within the server, for one of a value, and for input that is not a command.
const INTERNAL_ERROR: c_int = 1;
const BAD_VALUE: c_int = 2;
const FAILED_TO_PARSE: c_int = 9;

/// 8.2.0, the first version that accepts several collections of which one has a JSON schema.
const VERSION: u64 = 0x0008_0002_0000_0000;

/// Tests provoke a panic by a command with this `comment`, an error by one with this text and a message, and an analysis that
/// lasts until a file is deleted by one with this text and the path of the file, which the analysis creates.
const PANICKING: &str = "crypt_shared: panic";
const FAILING: &str = "crypt_shared: fail: ";
const WAITING: &str = "crypt_shared: wait: ";
/// The longest time that the analysis waits for a file.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The shortest BSON document: its length, and the zero byte at its end.
const SHORTEST_DOCUMENT: usize = 5;
const LENGTH_BYTES: usize = 4;

/// `mongo_crypt_v1_status`: how the last call with it ended.
#[derive(Debug, Default)]
pub struct Status {
    error: c_int,
    code: c_int,
    explanation: CString,
}

/// `mongo_crypt_v1_lib`: the initialized library. It has no state.
#[derive(Debug)]
pub struct Lib;

/// `mongo_crypt_v1_query_analyzer`. It has no state.
#[derive(Debug)]
pub struct QueryAnalyzer;

/// Whether a [`Lib`] exists. A process has at most one.
static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Why a call failed.
struct Failure {
    error: c_int,
    code: c_int,
    explanation: String,
}

impl Failure {
    /// An error of the library itself.
    fn of_call(error: c_int, explanation: &str) -> Self {
        Self {
            error,
            code: 0,
            explanation: explanation.to_owned(),
        }
    }

    /// An error of the analysis, with its code.
    fn of_analysis(code: c_int, explanation: &impl ToString) -> Self {
        Self {
            error: EXCEPTION,
            code,
            explanation: explanation.to_string(),
        }
    }
}

/// Notes in the status how a call ended, and returns its result.
///
/// # Safety
/// `status` must be null, or from [`mongo_crypt_v1_status_create`], not destroyed, and not in use by another thread.
unsafe fn finish<T>(status: *mut Status, result: Result<T, Failure>) -> Option<T> {
    // SAFETY: the caller guarantees that it is null, or alive and used by this call only.
    let status = unsafe { status.as_mut() };
    let (ended, value) = match result {
        Ok(value) => (Status::default(), Some(value)),
        Err(failure) => {
            let explanation = failure.explanation.replace('\0', "\u{fffd}");
            let ended = Status {
                error: failure.error,
                code: failure.code,
                explanation: CString::new(explanation).unwrap_or_default(),
            };
            (ended, None)
        }
    };
    if let Some(status) = status {
        *status = ended;
    }
    value
}

/// Creates a status.
#[unsafe(no_mangle)]
pub extern "C" fn mongo_crypt_v1_status_create() -> *mut Status {
    Box::into_raw(Box::default())
}

/// Destroys a status.
///
/// # Safety
/// `status` must be null, or from [`mongo_crypt_v1_status_create`], not destroyed, and not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_status_destroy(status: *mut Status) {
    if !status.is_null() {
        // SAFETY: the caller guarantees that it came from `Box::into_raw`, and that nothing else refers to it.
        drop(unsafe { Box::from_raw(status) });
    }
}

/// The `mongo_crypt_v1_error` of a status.
///
/// # Safety
/// `status` must be from [`mongo_crypt_v1_status_create`], not destroyed, and not be changed by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_status_get_error(status: *const Status) -> c_int {
    // SAFETY: the caller guarantees that it is alive and not being changed.
    let status = unsafe { &*status };
    status.error
}

/// The message of a status, which is alive until the status is changed or destroyed.
///
/// # Safety
/// As for [`mongo_crypt_v1_status_get_error`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_status_get_explanation(status: *const Status) -> *const c_char {
    // SAFETY: the caller guarantees that it is alive and not being changed.
    let status = unsafe { &*status };
    status.explanation.as_ptr()
}

/// The code of MongoDB in a status, if its error is an exception.
///
/// # Safety
/// As for [`mongo_crypt_v1_status_get_error`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_status_get_code(status: *const Status) -> c_int {
    // SAFETY: the caller guarantees that it is alive and not being changed.
    let status = unsafe { &*status };
    status.code
}

/// Initializes the library. Null if it is initialized.
///
/// # Safety
/// `status` as for [`mongo_crypt_v1_status_destroy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_lib_create(status: *mut Status) -> *mut Lib {
    let was_initialized = IS_INITIALIZED.swap(true, Ordering::SeqCst);
    let result = if was_initialized {
        let explanation = "the library is initialized already";
        Err(Failure::of_call(LIBRARY_ALREADY_INITIALIZED, explanation))
    } else {
        Ok(Box::into_raw(Box::new(Lib)))
    };
    // SAFETY: the caller guarantees it for the status.
    unsafe { finish(status, result) }.unwrap_or(ptr::null_mut())
}

/// Ends the use of the library. Returns the `mongo_crypt_v1_error`.
///
/// # Safety
/// `lib` must be from [`mongo_crypt_v1_lib_create`], not destroyed, and not in use by another thread; its analyzers must be
/// destroyed. `status` as for [`mongo_crypt_v1_status_destroy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_lib_destroy(lib: *mut Lib, status: *mut Status) -> c_int {
    let result = if lib.is_null() || !IS_INITIALIZED.load(Ordering::SeqCst) {
        let explanation = "the library is not initialized";
        Err(Failure::of_call(LIBRARY_NOT_INITIALIZED, explanation))
    } else {
        // SAFETY: the caller guarantees that it came from `Box::into_raw`, and that nothing else refers to it.
        drop(unsafe { Box::from_raw(lib) });
        IS_INITIALIZED.store(false, Ordering::SeqCst);
        Ok(SUCCESS)
    };
    // SAFETY: the caller guarantees it for the status.
    unsafe { finish(status, result) }.unwrap_or(LIBRARY_NOT_INITIALIZED)
}

/// The version: four numbers of 16 bits, the major one first.
#[unsafe(no_mangle)]
pub extern "C" fn mongo_crypt_v1_get_version() -> u64 {
    VERSION
}

/// The version as a text, which is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn mongo_crypt_v1_get_version_str() -> *const c_char {
    c"mongo_crypt_v1-marula_tests-8.2.0".as_ptr()
}

/// Creates an analyzer.
///
/// # Safety
/// `lib` must be null, or from [`mongo_crypt_v1_lib_create`] and not destroyed. `status` as for
/// [`mongo_crypt_v1_status_destroy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_query_analyzer_create(
    lib: *mut Lib,
    status: *mut Status,
) -> *mut QueryAnalyzer {
    let result = if lib.is_null() {
        Err(Failure::of_call(
            INVALID_LIB_HANDLE,
            "the handle of the library is null",
        ))
    } else {
        Ok(Box::into_raw(Box::new(QueryAnalyzer)))
    };
    // SAFETY: the caller guarantees it for the status.
    unsafe { finish(status, result) }.unwrap_or(ptr::null_mut())
}

/// Destroys an analyzer.
///
/// # Safety
/// `analyzer` must be null, or from [`mongo_crypt_v1_query_analyzer_create`], not destroyed, and not in use by another
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_query_analyzer_destroy(analyzer: *mut QueryAnalyzer) {
    if !analyzer.is_null() {
        // SAFETY: the caller guarantees that it came from `Box::into_raw`, and that nothing else refers to it.
        drop(unsafe { Box::from_raw(analyzer) });
    }
}

/// Analyzes a command with its schemas. Returns a BSON document, which [`mongo_crypt_v1_bson_free`] frees, and its length.
/// Null if it fails.
///
/// # Safety
/// `document` must point to a BSON document: at least as many bytes as its first four bytes state, and not fewer than four.
/// `namespace` must point to `namespace_length` bytes. `length` must be null or point to a number that can be written to.
/// `status` as for [`mongo_crypt_v1_status_destroy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_analyze_query(
    _analyzer: *mut QueryAnalyzer,
    document: *const u8,
    namespace: *const c_char,
    namespace_length: u32,
    length: *mut u32,
    status: *mut Status,
) -> *mut u8 {
    // SAFETY: the caller guarantees that it points to a document, whose length is in its first bytes.
    let stated = unsafe { stated_length(document) };
    // SAFETY: the caller guarantees that the document has this number of bytes, which are alive during the call.
    let document = unsafe { slice::from_raw_parts(document, stated) };
    // SAFETY: the caller guarantees that the namespace has this number of bytes, which are alive during the call.
    let namespace = unsafe { slice::from_raw_parts(namespace.cast::<u8>(), namespace_length as usize) };
    // The closure borrows bytes only, which a panic leaves as they are.
    let result = catch_unwind(AssertUnwindSafe(|| analyze(document, namespace)))
        .unwrap_or_else(|_| Err(Failure::of_analysis(INTERNAL_ERROR, &"the analysis panicked")));
    // SAFETY: the caller guarantees it for the status.
    let Some(analyzed) = (unsafe { finish(status, result) }) else {
        return ptr::null_mut();
    };
    // SAFETY: the caller guarantees that it is null, or may be written to.
    if let Some(length) = unsafe { length.as_mut() } {
        *length = u32::try_from(analyzed.len()).unwrap_or(0);
    }
    Box::into_raw(analyzed).cast()
}

/// Frees a document of [`mongo_crypt_v1_analyze_query`].
///
/// # Safety
/// `document` must be null, or from that function, unchanged, and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mongo_crypt_v1_bson_free(document: *mut u8) {
    if document.is_null() {
        return;
    }
    // SAFETY: the caller guarantees that it is an unchanged document.
    let stated = unsafe { stated_length(document) };
    // SAFETY: `Box::into_raw` returned this pointer for a slice that consists of the document: `analyze` has checked that the
    // length in its first bytes is that of the slice. The caller guarantees that nothing else refers to it.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(document, stated)) });
}

/// The length that a document states: 0 if it is negative.
///
/// # Safety
/// `document` must point to four bytes.
unsafe fn stated_length(document: *const u8) -> usize {
    // SAFETY: the caller guarantees the four bytes; an array of bytes has the alignment of a byte.
    let bytes = unsafe { document.cast::<[u8; LENGTH_BYTES]>().read() };
    usize::try_from(i32::from_le_bytes(bytes)).unwrap_or(0)
}

/// The analyzed command: a BSON document of the length that it states.
fn analyze(document: &[u8], namespace: &[u8]) -> Result<Box<[u8]>, Failure> {
    fn unreadable(error: impl Error) -> Failure {
        Failure::of_analysis(FAILED_TO_PARSE, &error)
    }
    if document.len() < SHORTEST_DOCUMENT {
        return Err(Failure::of_analysis(
            FAILED_TO_PARSE,
            &"the command is not a BSON document",
        ));
    }
    let mut command: Document = deserialize_from_slice(document).map_err(unreadable)?;
    let comment = command.get_str("comment").unwrap_or_default();
    assert!(comment != PANICKING, "a panic that a test provokes");
    if let Some(message) = comment.strip_prefix(FAILING) {
        return Err(Failure::of_analysis(BAD_VALUE, &message));
    }
    if let Some(path) = comment.strip_prefix(WAITING) {
        let began = Instant::now();
        fs::write(path, []).map_err(unreadable)?;
        while Path::new(path).exists() {
            if began.elapsed() > LONGEST_WAIT {
                return Err(Failure::of_analysis(INTERNAL_ERROR, &"the file was not deleted"));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    let namespace = std::str::from_utf8(namespace).map_err(unreadable)?;
    let database = namespace.split('.').next().unwrap_or_default();
    command.insert("$db", database);
    let analyzed = marula_query_analysis::analyze(command)
        .map_err(|rejection: Rejection| Failure::of_analysis(rejection.code(), &rejection))?;
    let bytes = serialize_to_vec(&analyzed).map_err(unreadable)?;
    let stated = bytes.first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
    if stated.and_then(|stated| usize::try_from(stated).ok()) != Some(bytes.len()) {
        return Err(Failure::of_analysis(
            INTERNAL_ERROR,
            &"the analyzed command is too long",
        ));
    }
    Ok(bytes.into_boxed_slice())
}
