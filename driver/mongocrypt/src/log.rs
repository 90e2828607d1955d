//! The log messages of the library.

use std::{
    ffi::{c_char, c_uint, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use crate::{
    functions::{Functions, RawCrypt},
    redact::redacted,
};

/// The severity of a message.
///
/// There is no level for the library's trace messages, which contain commands before they are encrypted: they are discarded,
/// also if the environment variable `MONGOCRYPT_TRACE` enables them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogLevel {
    /// `MONGOCRYPT_LOG_LEVEL_FATAL` and `MONGOCRYPT_LOG_LEVEL_ERROR`
    Error,
    /// `MONGOCRYPT_LOG_LEVEL_WARNING`
    Warning,
    /// `MONGOCRYPT_LOG_LEVEL_INFO`
    Info,
}

impl LogLevel {
    /// `None` for trace messages and for levels that this package does not know.
    fn of(level: c_uint) -> Option<Self> {
        match level {
            0 | 1 => Some(Self::Error),
            2 => Some(Self::Warning),
            3 => Some(Self::Info),
            _ => None,
        }
    }
}

/// Receives the messages of the library. It may be called from any thread that uses the library.
pub type LogHandler = fn(LogLevel, &str);

/// Makes the library pass its messages to a handler; without a handler they are discarded. Otherwise the library would print
/// them. `false` if it refuses.
///
/// # Safety
/// `crypt` must be alive and not initialized, and `handler` must outlive it.
pub(crate) unsafe fn install(
    functions: &Functions,
    crypt: *mut RawCrypt,
    handler: &Option<LogHandler>,
) -> bool {
    let context = ptr::from_ref(handler).cast_mut().cast::<c_void>();
    // SAFETY: `crypt` is alive; the hook has the type that the library expects, and the context outlives it.
    unsafe { (functions.log_handler)(crypt, receive, context) }
}

unsafe extern "C" fn receive(level: c_uint, message: *const c_char, length: u32, context: *mut c_void) {
    // SAFETY: the library passes the pointer that `install` has given to it, to a handler that is alive and not changed.
    let handler = unsafe { &*context.cast::<Option<LogHandler>>() };
    let (Some(handler), Some(level)) = (handler, LogLevel::of(level)) else {
        return;
    };
    if message.is_null() {
        return;
    }
    // SAFETY: the library passes a text of this length, which is alive during the call (`mongocrypt_log_fn_t`).
    let bytes = unsafe { slice::from_raw_parts(message.cast::<u8>(), length as usize) };
    let text = String::from_utf8_lossy(bytes).into_owned();
    // A panic must not enter the library. The message is lost.
    let _ = catch_unwind(AssertUnwindSafe(|| handler(level, &redacted(text))));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static RECEIVED: Mutex<Vec<(LogLevel, String)>> = Mutex::new(Vec::new());

    fn record(level: LogLevel, message: &str) {
        RECEIVED.lock().unwrap().push((level, message.to_owned()));
        assert_ne!(message, "panic", "a handler that panics");
    }

    #[test]
    fn messages_are_passed_on_except_for_trace_messages() {
        let handler: Option<LogHandler> = Some(record);
        let send = |handler: &Option<LogHandler>, level: c_uint, text: &str| {
            let context = ptr::from_ref(handler).cast_mut().cast::<c_void>();
            let length = u32::try_from(text.len()).unwrap();
            // SAFETY: the text has this length, and the context is a handler; both are alive during the call.
            unsafe { receive(level, text.as_ptr().cast::<c_char>(), length, context) };
        };
        for (level, text) in [
            (0, "fatal"),
            (1, "error"),
            (2, "panic"),
            (3, "info"),
            (4, "trace"),
            (9, "other"),
        ] {
            send(&handler, level, text);
        }
        send(&None, 1, "no handler");
        let received = std::mem::take(&mut *RECEIVED.lock().unwrap());
        let expected = [
            (LogLevel::Error, "fatal"),
            (LogLevel::Error, "error"),
            (LogLevel::Warning, "panic"),
            (LogLevel::Info, "info"),
        ];
        assert_eq!(received, expected.map(|(level, text)| (level, text.to_owned())));
    }
}
