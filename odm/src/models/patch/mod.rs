//! Patches: structs of optional fields that change a document, checked against the fields of the model by
//! [`#[derive(Patch)]`](derive@crate::Patch).
//!
//! A patch is an update: every call that takes an update takes a patch, by value or by reference, alone or in
//! a tuple with operators.
//!
//! ```
//! # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
//! use marula::{Patch, Patched};
//!
//! #[derive(Patch, serde::Deserialize)]
//! #[document(of = Order)]
//! #[serde(deny_unknown_fields)]
//! struct OrderPatch {
//!     status: Option<Status>,
//!     note: Patched<String>,
//! }
//!
//! let body = r#"{"status": "paid", "note": null}"#; // such as of a request
//! let patch: OrderPatch = serde_json::from_str(body)?;
//! orders.update_by_id(1, |o| (&patch, o.tags().push("patched"))).required().await?;
//! # assert_eq!(orders.find_by_id(1).required().await?.status, Status::Paid);
//! # Ok(()) });
//! ```
//!
//! | type of the field of the model | type in the patch | changes |
//! |---|---|---|
//! | `T` | `Option<T>` | `None`: none; `Some`: `$set` |
//! | `Option<T>` | `Option<T>` | `None`: none; `Some`: `$set` |
//! | `Option<T>` | [`Patched<T>`] | `Missing`: none; `Null`: `$set` to null, or `$unset` if the field of the model has `skip_none`; `Set`: `$set` |
//!
//! A field can have the types of values that [`UpdateOps::set`] accepts: a field of type `Vec<T>` is set as a whole.
//! The rules of `set` apply, also those for a value whose parent is missing and for fields of enum variants and
//! [encrypted fields](crate::encryption): `Null` removes an encrypted field.
//!
//! An update by a patch that [is empty](Patch::is_empty) fails with [`Error::InvalidUpdate`], unless the call
//! [allows](crate::collection::UpdateOne::allow_empty) it.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::Bson,
        error::{Error, Result, ValueError},
    },
    models::model::Model,
    path::{
        AsPath, Mode, RawPath,
        marker::{Nullable, Writable},
    },
    term::{
        encryption::{EncryptedField, EncryptedPath},
        update::{IntoUpdate, Update, UpdateOps},
    },
    values::value::IntoValue,
};

mod state;

pub use state::Patched;

/// A struct of changes to documents of a model. Implemented by [`#[derive(Patch)]`](derive@crate::Patch), with
/// [`IntoUpdate`](crate::IntoUpdate) for the struct and for references to it.
pub trait Patch {
    /// The model.
    type Model;

    /// Whether the patch changes nothing.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::Patch;
    ///
    /// #[derive(Patch, Default)]
    /// #[document(of = Order)]
    /// struct OrderPatch {
    ///     total: Option<i64>,
    /// }
    /// assert!(OrderPatch::default().is_empty());
    /// assert!(!OrderPatch { total: Some(5) }.is_empty());
    /// ```
    fn is_empty(&self) -> bool;

    /// The update.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::{Patch, Patched};
    ///
    /// #[derive(Patch)]
    /// #[document(of = Order)]
    /// struct OrderPatch {
    ///     total: Option<i64>,
    ///     note: Patched<String>,
    /// }
    /// let patch = OrderPatch { total: Some(5), note: Patched::Null };
    /// assert_eq!(patch.to_update().to_string(), r#"{"$set": {"total": 5, "note": null}}"#);
    /// ```
    fn to_update(&self) -> Update<Self::Model>;
}

/// A type of the fields of a patch.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a field of a patch",
    label = "expected an `Option` or a `Patched`",
    note = "`None` leaves the field of the model unchanged; for an `Option` in the model, `marula::Patched` can also set null"
)]
pub trait PatchField {
    type Value;
    /// Which fields of a model can have the values.
    type Values;
    /// The value: `None` if the field is not changed, `Some(None)` for null.
    fn value(&self) -> Option<Option<&Self::Value>>;
    fn is_missing(&self) -> bool {
        self.value().is_none()
    }
}

impl<T> PatchField for Option<T> {
    type Value = T;
    type Values = Present;
    fn value(&self) -> Option<Option<&T>> {
        self.as_ref().map(Some)
    }
}

impl<T> PatchField for Patched<T> {
    type Value = T;
    type Values = PresentOrNull;
    fn value(&self) -> Option<Option<&T>> {
        self.as_option()
    }
}

/// Values that are not null.
#[doc(hidden)]
#[derive(Debug)]
pub enum Present {}

/// Values, and null.
#[doc(hidden)]
#[derive(Debug)]
pub enum PresentOrNull {}

/// Values that a field of type `S` can have.
#[doc(hidden)]
pub trait ValuesOf<S> {}
impl<S> ValuesOf<S> for Present {}
impl<S: Nullable> ValuesOf<S> for PresentOrNull {}

/// A value in its stored form, whose type was checked.
struct Checked(Result<Bson, ValueError>);

impl<T> IntoValue<T> for Checked {
    fn into_value(self) -> Result<Bson, ValueError> {
        self.0
    }
}

/// A path whose value can be set: also that of an encrypted field.
#[doc(hidden)]
pub trait Assignable {
    type Root;
    /// The type of the field.
    type Stored;
    /// The type of the values that are set.
    type Value;
    type Mode;
    fn path(&self) -> &RawPath;
    /// Sets the value. `None`: null, or no field.
    fn assign(&self, value: Option<Result<Bson, ValueError>>) -> Update<Self::Root>
    where
        Self::Mode: Writable;
}

#[diagnostic::do_not_recommend]
impl<A: AsPath> Assignable for A {
    type Root = A::Root;
    type Stored = A::Value;
    type Value = A::Value;
    type Mode = A::Mode;
    fn path(&self) -> &RawPath {
        self.raw()
    }
    fn assign(&self, value: Option<Result<Bson, ValueError>>) -> Update<A::Root>
    where
        A::Mode: Writable,
    {
        self.set(Checked(value.unwrap_or(Ok(Bson::Null))))
    }
}

impl<R, T: EncryptedField, Q, M: Mode> Assignable for EncryptedPath<R, T, Q, M> {
    type Root = R;
    type Stored = T;
    type Value = T::Value;
    type Mode = M;
    fn path(&self) -> &RawPath {
        self.raw()
    }
    fn assign(&self, value: Option<Result<Bson, ValueError>>) -> Update<R>
    where
        M: Writable,
    {
        match value {
            Some(value) => self.set(Checked(value)),
            None => self.unset(),
        }
    }
}

/// The changes of a patch. The derive calls it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Patching<D> {
    update: Update<D>,
    root: PhantomData<fn() -> D>,
}

impl<D> Default for Patching<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> Patching<D> {
    #[must_use]
    pub fn new() -> Self {
        Patching {
            update: Update::empty(),
            root: PhantomData,
        }
    }

    /// Adds the change of a field.
    #[must_use]
    pub fn field<F, A>(mut self, path: &A, field: &F) -> Self
    where
        D: Model,
        A: Assignable<Root = D, Mode: Writable>,
        F: PatchField<Values: ValuesOf<A::Stored>>,
        for<'a> &'a F::Value: IntoValue<A::Value>,
    {
        if let Some(value) = field.value() {
            let change = match kept::<D>(path.path().dotted()) {
                Some(error) => Update::failed(error),
                None => path.assign(value.map(IntoValue::into_value)),
            };
            self.update = self.update.and(change);
        }
        self
    }

    pub fn finish(self) -> Update<D> {
        self.update.into_update()
    }
}

/// The error for the path of the id or of a maintained field, which the derive finds only if it is a field of a struct.
fn kept<D: Model>(path: &str) -> Option<Error> {
    let behavior = D::BEHAVIOR;
    let maintained = [
        Some("_id"),
        behavior.version,
        behavior.created_at,
        behavior.updated_at,
        behavior.soft_delete,
        behavior.schema.map(|schema| schema.field),
        behavior.discriminator.map(|kind| kind.field),
    ];
    maintained.contains(&Some(path)).then(|| {
        Error::update(
            path,
            "it is the id or a maintained field of the model, which a patch does not change",
        )
    })
}
