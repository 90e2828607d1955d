//! The check that the feature `encryption` is enabled where a field is encrypted.

/// Implemented with the feature `encryption`.
#[cfg(not(feature = "encryption"))]
#[diagnostic::on_unimplemented(
    message = "`encrypted` needs the feature `encryption` of marula",
    label = "add `features = [\"encryption\"]` to the dependency `marula`"
)]
pub trait EncryptionFeature {}

/// Fails to compile, at the span of the attribute, without the feature.
#[cfg(not(feature = "encryption"))]
pub fn assert_encryption_feature<T: EncryptionFeature>() {}

/// Fails to compile, at the span of the attribute, without the feature.
#[cfg(feature = "encryption")]
pub fn assert_encryption_feature<T>() {}
