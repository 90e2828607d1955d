//! The fields of a command's reply, found in one pass over its top-level elements.

use crate::{
    Error, ErrorKind, Result,
    bson::{
        Document, RawDocument, RawElement, RawElements, RawValue, Timestamp, decode_document, find_element,
        spec::ElementType,
    },
    error::{CommandError, WriteConcernError, WriteError, WriteFailure},
};

/// The body of a reply, and the fields that the driver uses.
#[derive(Debug, Default)]
pub struct Reply<'a> {
    /// The body document.
    pub body: &'a [u8],
    /// `None` without a valid field `ok`.
    ok: Option<bool>,
    code: i32,
    code_name: Option<&'a str>,
    message: Option<&'a str>,
    error_labels: Option<&'a [u8]>,
    write_errors: Option<&'a [u8]>,
    write_concern_error: Option<&'a [u8]>,
    cluster_time: Option<&'a [u8]>,
    operation_time: Option<Timestamp>,
    cursor: Option<(&'a [u8], usize)>,
    n: Option<RawValue<'a>>,
    n_modified: Option<RawValue<'a>>,
    upserted: Option<&'a [u8]>,
}

impl<'a> Reply<'a> {
    /// Finds the fields. Fails if the document is malformed. Fields of an unexpected type are
    /// ignored.
    pub fn scan(body: &'a [u8]) -> Result<Self> {
        let mut reply = Self {
            body,
            ..Self::default()
        };
        let mut elements = RawElements::new(body)?;
        while let Some(RawElement { key, value }) = elements.next_element()? {
            match key {
                "ok" => reply.ok = value.logical(),
                "n" => reply.n = Some(value),
                "nModified" => reply.n_modified = Some(value),
                "cursor" => {
                    let end = elements.offset();
                    reply.cursor = document_bytes(value).map(|cursor| (cursor, end - cursor.len()));
                }
                "upserted" => reply.upserted = array_bytes(value),
                "code" => reply.code = error_code(value),
                "codeName" => reply.code_name = value.str().ok(),
                "errmsg" => reply.message = value.str().ok(),
                "errorLabels" => reply.error_labels = array_bytes(value),
                "writeErrors" => reply.write_errors = array_bytes(value),
                "writeConcernError" => reply.write_concern_error = document_bytes(value),
                "operationTime" => reply.operation_time = value.timestamp().ok(),
                "$clusterTime" => reply.cluster_time = document_bytes(value),
                _ => {}
            }
        }
        Ok(reply)
    }

    /// The code of the command error, and the code of the write concern error.
    pub fn failure_codes(&self) -> (Option<i32>, Option<i32>) {
        let write_concern = self
            .write_concern_error
            .and_then(|bytes| find_element(bytes, "code").ok().flatten())
            .and_then(|element| element.value.int().ok())
            .and_then(|code| i32::try_from(code).ok());
        (self.is_refusal().then_some(self.code), write_concern)
    }

    /// `n`: the number of matched, inserted, deleted or counted documents. Fails if the field is
    /// missing or is not a whole number of at least 0.
    pub fn n(&self) -> Result<u64> {
        self.n
            .map_or_else(|| Err(invalid_count("n")), |value| count(value, "n"))
    }

    /// `nModified`, which only the reply to `update` has: 0 if the field is missing (Write Commands
    /// specification). Fails if it is not a whole number of at least 0.
    pub fn n_modified(&self) -> Result<u64> {
        self.n_modified.map_or(Ok(0), |value| count(value, "nModified"))
    }

    /// `$clusterTime`.
    pub fn cluster_time(&self) -> Option<&'a [u8]> {
        self.cluster_time
    }

    /// `operationTime`.
    pub fn operation_time(&self) -> Option<Timestamp> {
        self.operation_time
    }

    /// `atClusterTime`: the time of the snapshot that the command read.
    pub fn snapshot_time(&self) -> Option<Timestamp> {
        let time_in = |bytes| {
            find_element(bytes, "atClusterTime")
                .ok()
                .flatten()?
                .value
                .timestamp()
                .ok()
        };
        self.cursor
            .and_then(|(cursor, _)| time_in(cursor))
            .or_else(|| time_in(self.body))
    }

    /// `recoveryToken` of a reply with `ok: 1` in a sharded transaction.
    pub fn recovery_token(&self) -> Option<&'a [u8]> {
        if self.ok != Some(true) {
            return None;
        }
        document_bytes(find_element(self.body, "recoveryToken").ok().flatten()?.value)
    }

    /// `cursor`, and its offset in the body.
    pub fn cursor(&self) -> Result<(&'a [u8], usize)> {
        self.cursor
            .ok_or_else(|| Error::invalid_reply("a reply has no valid field \"cursor\""))
    }

    /// `upserted`: the bytes of an array of documents.
    pub fn upserted(&self) -> Option<&'a [u8]> {
        self.upserted
    }

    /// Whether the reply may contain write errors or a write concern error.
    pub fn has_write_failures(&self) -> bool {
        self.has_write_errors() || self.write_concern_error.is_some()
    }

    /// Whether the reply has `writeErrors`.
    pub fn has_write_errors(&self) -> bool {
        self.write_errors.is_some()
    }

    /// Whether the reply contains the errors of single writes: in `writeErrors`, or in the results cursor of
    /// `bulkWrite`, which `nErrors` counts.
    pub fn reports_write_errors(&self) -> bool {
        let count = || {
            let count = find_element(self.body, "nErrors").ok().flatten()?;
            count.value.int().ok()
        };
        self.has_write_errors() || count().is_some_and(|count| count > 0)
    }

    /// The labels of the reply and of its write concern error.
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self.error_labels.map(strings).unwrap_or_default();
        if let Some(bytes) = self.write_concern_error {
            let nested = find_element(bytes, "errorLabels")
                .ok()
                .flatten()
                .and_then(|e| array_bytes(e.value));
            labels.extend(nested.map(strings).unwrap_or_default());
        }
        labels
    }

    /// Whether the reply has `ok: 0`.
    pub fn is_refusal(&self) -> bool {
        self.ok == Some(false)
    }

    /// The error of a reply with `ok: 0`, or without a valid field `ok`.
    pub fn command_error(&self) -> Option<Error> {
        match self.ok {
            Some(true) => return None,
            Some(false) => {}
            None => return Some(Error::invalid_reply("a reply has no valid field \"ok\"")),
        }
        let error = Error::new(ErrorKind::Command(CommandError {
            code: self.code,
            code_name: self.code_name.unwrap_or_default().to_owned(),
            message: self.message.unwrap_or("(no errmsg in the reply)").to_owned(),
        }));
        Some(self.annotate(error))
    }

    /// The write concern error, if it is a "not writable primary" or "node is recovering" error
    /// (SDAM, `"not writable primary" and "node is recovering"`).
    pub fn state_change(&self) -> Option<Error> {
        let concern = write_concern_error(self)?;
        if !concern.is_state_change() {
            return None;
        }
        let failure = WriteFailure {
            write_concern_error: Some(concern),
            ..WriteFailure::default()
        };
        Some(self.annotate(Error::new(ErrorKind::Write(failure))))
    }

    /// Adds the labels and the complete reply to an error.
    pub fn annotate(&self, error: Error) -> Error {
        let error = error.with_labels(self.labels());
        match RawDocument::from_bytes(self.body) {
            Ok(body) => error.with_response(body),
            Err(_) => error,
        }
    }
}

/// The bytes of a document value; `None` for other types.
pub fn document_bytes(value: RawValue<'_>) -> Option<&[u8]> {
    (value.kind() == ElementType::EmbeddedDocument).then(|| value.bytes())
}

/// The bytes of an array value; `None` for other types.
pub fn array_bytes(value: RawValue<'_>) -> Option<&[u8]> {
    (value.kind() == ElementType::Array).then(|| value.bytes())
}

fn strings(array: &[u8]) -> Vec<String> {
    let Ok(elements) = RawElements::new(array) else {
        return Vec::new();
    };
    elements
        .filter_map(Result::ok)
        .filter_map(|element| element.value.str().ok().map(str::to_owned))
        .collect()
}

/// A count that the server sends. Fails if it is not a whole number of at least 0.
pub fn count(value: RawValue<'_>, name: &str) -> Result<u64> {
    let number = value.int().ok().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| invalid_count(name))
}

/// The error of a count that is missing or cannot be read.
#[cold]
pub fn invalid_count(name: &str) -> Error {
    Error::invalid_reply(format!("a reply has no valid field {name:?}"))
}

/// The code of an error. 0 if it cannot be read, so that the error is reported.
fn error_code(value: RawValue<'_>) -> i32 {
    let code = value.int().ok().and_then(|code| i32::try_from(code).ok());
    code.unwrap_or_default()
}

/// A document with details of an error. `None` if it cannot be read, so that the error is reported.
fn detail(value: RawValue<'_>) -> Option<Document> {
    document_bytes(value).and_then(|bytes| decode_document(bytes).ok())
}

/// Reads a field of a write error other than its index. A field that cannot be read is ignored.
pub fn read_write_error_field(error: &mut WriteError, key: &str, value: RawValue<'_>) {
    match key {
        "code" => error.code = error_code(value),
        "errmsg" => value.str().unwrap_or_default().clone_into(&mut error.message),
        "errInfo" => error.details = detail(value),
        "keyPattern" => error.key_pattern = detail(value),
        "keyValue" => error.key_value = detail(value),
        _ => {}
    }
}

/// Parses `writeErrors`. The index of an error is that of its statement in the command. Fails if an
/// index cannot be read. Other fields that cannot be read are ignored.
pub fn write_errors(reply: &Reply<'_>) -> Result<Vec<WriteError>> {
    let Some(array) = reply.write_errors else {
        return Ok(Vec::new());
    };
    RawElements::new(array)?
        .map(|element| {
            let (mut error, index) = write_error(element?.value)?;
            error.index =
                index.ok_or_else(|| Error::invalid_reply("a write error has no valid field \"index\""))?;
            Ok(error)
        })
        .collect()
}

/// The first element of `writeErrors` in the reply to a command with one write: its index is not read.
pub fn single_write_error(reply: &Reply<'_>) -> Result<Option<WriteError>> {
    let Some(array) = reply.write_errors else {
        return Ok(None);
    };
    match RawElements::new(array)?.next_element()? {
        Some(element) => write_error(element.value).map(|(error, _)| Some(error)),
        None => Ok(None),
    }
}

/// A write error, and its index if that can be read.
fn write_error(value: RawValue<'_>) -> Result<(WriteError, Option<usize>)> {
    let bytes =
        document_bytes(value).ok_or_else(|| Error::invalid_reply("a write error is not a document"))?;
    let mut error = WriteError::default();
    let mut index = None;
    for element in RawElements::new(bytes)? {
        let RawElement { key, value } = element?;
        match key {
            "index" => index = statement_index(value),
            _ => read_write_error_field(&mut error, key, value),
        }
    }
    Ok((error, index))
}

/// The index of a statement in its command. `None` if it is not a whole number of at least 0.
pub fn statement_index(value: RawValue<'_>) -> Option<usize> {
    value.int().ok().and_then(|index| usize::try_from(index).ok())
}

/// Parses `writeConcernError`. A field that cannot be read is ignored.
pub fn write_concern_error(reply: &Reply<'_>) -> Option<WriteConcernError> {
    let mut error = WriteConcernError::default();
    for element in RawElements::new(reply.write_concern_error?).into_iter().flatten() {
        let Ok(RawElement { key, value }) = element else {
            break;
        };
        match key {
            "code" => error.code = error_code(value),
            "codeName" => value.str().unwrap_or_default().clone_into(&mut error.code_name),
            "errmsg" => value.str().unwrap_or_default().clone_into(&mut error.message),
            "errInfo" => error.details = detail(value),
            _ => {}
        }
    }
    Some(error)
}
