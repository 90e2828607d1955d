//! [`ClientEncryption::encrypt`] and [`ClientEncryption::encrypt_expression`].

use std::time::Duration;

use marula_mongocrypt::{ExplicitOptions, KeyReference, Zeroizing};
use serde::Serialize;

use super::{ClientEncryption, document, engine::Work, raw, unexpected};
use crate::{
    Error, Result,
    api::command::{Deferred, awaitable, timeout_setter},
    bson::{Binary, Document, IntoDocument, RawDocument, decode_document, spec::BinarySubtype},
    options::encryption::{DataKey, EncryptionAlgorithm, RangeOptions},
    types::timeout::Timeout,
};

impl ClientEncryption {
    /// Encrypts a value with a data key, which is given by its `_id` or by an alternate name. Awaiting the action returns the
    /// encrypted value, Binary subtype 6.
    ///
    /// A value of the algorithms `Indexed`, `Range` and `String` is a payload for the server: insert it or query with it with a
    /// client that has automatic encryption. Its analysis of queries may be bypassed, encryption itself may not.
    ///
    /// # Errors
    /// [`EncryptionError`](crate::EncryptionError) if the key does not exist or cannot be decrypted, the algorithm does not
    /// support the type of the value, or an option is missing or does not fit the algorithm.
    /// [`Encode`](crate::ErrorKind::Encode) if the value cannot be serialized.
    pub fn encrypt<T: Serialize + ?Sized>(
        &self,
        value: &T,
        key: impl Into<DataKey>,
        algorithm: EncryptionAlgorithm,
    ) -> Encrypt<'_> {
        Encrypt {
            encryption: self,
            value: document(|writer| writer.serialize("v", value)).map(Secret::new),
            options: ValueOptions::new(key.into(), algorithm),
            timeout: None,
        }
    }

    /// Encrypts the values in an expression that queries a field with a range index, in one of the forms
    /// `{$and: [{<field>: {$gt: <value>}}, {<field>: {$lt: <value>}}]}` (for a filter) and
    /// `{$and: [{$gt: [<path>, <value>]}, {$lt: [<path>, <value>]}]}` (for `$expr`). The operators may also be `$gte` and
    /// `$lte`. The algorithm is `Range`, the query type `range`.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn encrypt_expression(
        &self,
        expression: impl IntoDocument,
        key: impl Into<DataKey>,
        options: RangeOptions,
    ) -> EncryptExpression<'_> {
        let mut deferred = Deferred::default();
        let mut values = ValueOptions::new(key.into(), EncryptionAlgorithm::Range(options));
        values.query_type = Some("range".to_owned());
        EncryptExpression {
            encryption: self,
            expression: Secret::new(deferred.document("expression", expression).into_bytes()),
            options: values,
            deferred,
            timeout: None,
        }
    }
}

/// A document with a value that is not encrypted. It is zeroed when it is dropped, and not printed.
struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<redacted>")
    }
}

/// The options of both actions.
#[derive(Debug)]
struct ValueOptions {
    key: DataKey,
    algorithm: EncryptionAlgorithm,
    contention_factor: Option<i64>,
    query_type: Option<String>,
}

impl ValueOptions {
    fn new(key: DataKey, algorithm: EncryptionAlgorithm) -> Self {
        Self {
            key,
            algorithm,
            contention_factor: None,
            query_type: None,
        }
    }

    /// Runs `action` with the options in the form of libmongocrypt.
    fn with<T>(&self, action: impl FnOnce(&ExplicitOptions<'_>) -> T) -> Result<T> {
        let id;
        let key = match &self.key {
            DataKey::Id(uuid) => {
                id = uuid.bytes();
                KeyReference::Id(&id)
            }
            DataKey::AltName(name) => KeyReference::AltName(name),
        };
        let (mut range, mut text) = (None, None);
        match &self.algorithm {
            EncryptionAlgorithm::Range(options) => range = Some(options.document()?),
            EncryptionAlgorithm::String(options) => text = Some(options.document()?),
            _ => {}
        }
        Ok(action(&ExplicitOptions {
            key,
            algorithm: self.algorithm.name(),
            contention_factor: self.contention_factor,
            query_type: self.query_type.as_deref(),
            range: range.as_deref(),
            text: text.as_deref(),
        }))
    }

    fn work(&self, size: usize) -> Work {
        match &self.algorithm {
            // Many derivations for each value.
            EncryptionAlgorithm::Range(_) | EncryptionAlgorithm::String(_) => Work::Large,
            _ => Work::of_size(size),
        }
    }
}

/// Encrypts a value. Await it for Binary subtype 6; see [`ClientEncryption::encrypt`].
#[must_use = "nothing is done before the action is awaited"]
#[derive(Debug)]
pub struct Encrypt<'a> {
    encryption: &'a ClientEncryption,
    value: Result<Secret>,
    options: ValueOptions,
    timeout: Option<Duration>,
}

impl<'a> Encrypt<'a> {
    /// `contentionFactor`: for `Indexed`, `Range` and `String`, which require it. Default: none.
    pub fn contention_factor(mut self, factor: i64) -> Self {
        self.options.contention_factor = Some(factor);
        self
    }

    /// `queryType`: the value is part of a query of this type: `equality`, `range`, `prefix`, `suffix` or `substring` (or
    /// `prefixPreview`, `suffixPreview` and `substringPreview` on MongoDB 8.2, which may change). Default: the value is to be
    /// stored.
    pub fn query_type(mut self, query_type: impl Into<String>) -> Self {
        self.options.query_type = Some(query_type.into());
        self
    }

    timeout_setter!();

    async fn run(self) -> Result<Binary> {
        let value = self.value?;
        let engine = &self.encryption.engine;
        let timeout = engine.start_timeout(self.timeout)?;
        let context = self
            .options
            .with(|options| engine.crypt().encrypt_value(&value.0, options))??;
        let work = self.options.work(value.0.len());
        let result = raw(engine.run(context.into(), timeout, work).await?.to_vec())?;
        match result.get_binary("v") {
            Ok(value) if value.subtype == BinarySubtype::Encrypted => Ok(Binary {
                subtype: value.subtype,
                bytes: value.bytes.to_vec(),
            }),
            _ => Err(unexpected("v is not an encrypted value")),
        }
    }
}

awaitable!(['a] Encrypt<'a> => Binary);

/// Encrypts an expression. Await it for the expression to send; see [`ClientEncryption::encrypt_expression`].
#[must_use = "nothing is done before the action is awaited"]
#[derive(Debug)]
pub struct EncryptExpression<'a> {
    encryption: &'a ClientEncryption,
    expression: Secret,
    options: ValueOptions,
    deferred: Deferred,
    timeout: Option<Duration>,
}

impl<'a> EncryptExpression<'a> {
    /// `contentionFactor`. Required.
    pub fn contention_factor(mut self, factor: i64) -> Self {
        self.options.contention_factor = Some(factor);
        self
    }

    timeout_setter!();

    async fn run(mut self) -> Result<Document> {
        self.deferred.take_result()?;
        let engine = &self.encryption.engine;
        let timeout: Timeout = engine.start_timeout(self.timeout)?;
        let expression =
            RawDocument::from_bytes(&self.expression.0).map_err(|error| unexpected(&error.to_string()))?;
        let value = Secret::new(document(|writer| writer.document("v", expression))?);
        let context = self
            .options
            .with(|options| engine.crypt().encrypt_expression(&value.0, options))??;
        let result = raw(engine.run(context.into(), timeout, Work::Large).await?.to_vec())?;
        match result.get_document("v") {
            Ok(expression) => decode_document(expression.as_bytes()).map_err(Error::from),
            Err(_) => Err(unexpected("v is not a document")),
        }
    }
}

awaitable!(['a] EncryptExpression<'a> => Document);
