//! Projections: structs that are read from a part of a stored type, checked against its fields by
//! [`#[derive(Projection)]`](derive@crate::Projection).
//!
//! `select::<P>()` reads a projection: of a [`find`](crate::collection::Find::select) and its pages,
//! of a [`find_one`](crate::collection::FindOne::select), of a find-and-modify, and of a
//! [`Pipeline`](crate::Pipeline::select). Only the fields of the projection are sent by the server.
//!
//! | type of the stored field | types of the field in a projection |
//! |---|---|
//! | `T` | `T`, `Option<T>`, a projection `P` of `T`, `Option<P>` |
//! | `Option<T>`, and `T` behind an `Option` | `Option<T>`, `Option<P>` |
//! | `Vec<T>` | `Vec<T>`, `Vec<P>` |
//! | `#[document(opaque)] T` | `T` |
//! | `#[document(encrypted)] T` | as for `T`, under the same name |
//!
//! Fields with their stored names are included, so that an index that contains them can answer the
//! query. Fields with another name, from another path, or computed are expressions, which a `find`
//! supports from MongoDB 4.4.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::rc::Rc;
use std::sync::Arc;

use crate::{
    base::{
        bson::{
            Binary, Bson, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid, doc,
        },
        error::{Error, Result},
        tuples::each_tuple,
    },
    models::model::Fields,
    path::{
        AsPath, InVariant, Maybe, Mode, Path, RawPath, Read,
        field::{ByFunction, DerivedDocument, Field, Opaque},
        to_value_path,
    },
    term::{
        encryption::{EncryptedField, EncryptedPath},
        expr::{IntoExpr, Raw, field_path, reference, with_variable},
    },
    values::codec::DecodeOwned,
};

/// A type that can be read from a stored value of type `S`: the same type, an `Option` of it, a
/// `Vec` of a projection of its elements, or a struct with
/// [`#[derive(Projection)]`](derive@crate::Projection).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a field of type `{S}`",
    label = "the field is stored as `{S}`",
    note = "expected the same type, an `Option` of it, or a struct with `#[derive(Projection)] #[document(of = {S})]`"
)]
pub trait Projection<S> {
    /// The part of a value at a path that is read.
    #[doc(hidden)]
    #[must_use]
    fn node(_path: RawPath) -> Node {
        Node::Whole
    }
}

/// Types in which results can be read. Implemented for all that satisfy the bounds.
pub trait Output: Field + DecodeOwned + Send + Sync + 'static {}
impl<T: Field + DecodeOwned + Send + Sync + 'static> Output for T {}

/// Types of fields that are not an `Option`. Implemented by the derives.
pub trait Present {}

macro_rules! whole {
    ($([$($generics:tt)*] $t:ty;)*) => { $(
        impl<$($generics)*> Projection<$t> for $t {}
        impl<$($generics)*> Present for $t {}
    )* };
}
whole! {
    [] i8; [] i16; [] i32; [] i64; [] u8; [] u16; [] u32; [] u64; [] usize; [] f32; [] f64; [] bool; [] char; [] String;
    [] ObjectId; [] DateTime; [] Decimal128; [] Timestamp; [] Binary; [] Regex; [] BsonUuid; [] uuid::Uuid;
    [] IpAddr; [] Ipv4Addr; [] Ipv6Addr; [] SocketAddr; [] SocketAddrV4; [] SocketAddrV6;
    [] Bson; [] Document;
    [] ();
}

macro_rules! tuples {
    ($($len:literal: $($t:ident $at:tt),*;)*) => { whole! { $([$($t),*] ($($t,)*);)* } };
}
each_tuple!(tuples);

/// Containers that are read whole, with the types of their values.
macro_rules! containers {
    ($([$($generics:tt)*] $t:ty, $stored:ty;)*) => { $(
        impl<S, P: Projection<S>, $($generics)*> Projection<$stored> for $t {}
        impl<P, $($generics)*> Present for $t {}
    )* };
}
containers! {
    [K, H] HashMap<K, P, H>, HashMap<K, S, H>;
    [K] BTreeMap<K, P>, BTreeMap<K, S>;
    [] VecDeque<P>, VecDeque<S>;
    [] LinkedList<P>, LinkedList<S>;
    [] BTreeSet<P>, BTreeSet<S>;
    [H] HashSet<P, H>, HashSet<S, H>;
    [] Box<[P]>, Box<[S]>;
    [const N: usize] [P; N], [S; N];
}

impl<T> Present for Vec<T> {}
#[diagnostic::do_not_recommend]
impl<T: DerivedDocument> Present for T {}
impl<T> Projection<Opaque<T>> for T {}
impl<T> Projection<Opaque<ByFunction<T>>> for T {}

/// Also a document without the field is read, such as one of an earlier version of the model.
impl<S: Present, P: Projection<S>> Projection<S> for Option<P> {
    fn node(path: RawPath) -> Node {
        P::node(path).optional()
    }
}

impl<S, P: Projection<S>> Projection<Option<S>> for Option<P> {
    fn node(path: RawPath) -> Node {
        P::node(path).optional()
    }
}

macro_rules! pointers {
    ($($t:ident)*) => { $(
        impl<S: Present, P: Projection<S>> Projection<S> for $t<P> {
            fn node(path: RawPath) -> Node {
                P::node(path)
            }
        }
        impl Projection<String> for $t<str> {}
    )* };
}
pointers! { Box Rc Arc }

impl<S, P: Projection<S>> Projection<Vec<S>> for Vec<P> {
    fn node(path: RawPath) -> Node {
        with_variable("v", |name| Node::Each {
            plain: Box::new(P::node(path)),
            mapped: Box::new(P::node(RawPath::variable(name))),
            name: name.to_owned(),
        })
    }
}

/// Modes of paths to a value that is present in every document.
#[diagnostic::on_unimplemented(
    message = "a path through an `Option` may have no value, and a path through an array has many",
    label = "the path goes through an `Option` or an array",
    note = "read an `Option` of the value behind an `Option`; for the elements of an array read a `Vec` of a projection"
)]
pub trait Direct {}
impl Direct for Read {}

/// A type that can be read from a stored `S` at a path of mode `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a field of type `{S}`",
    label = "the field is stored as `{S}`",
    note = "expected the same type, an `Option` of it, or a struct with `#[derive(Projection)] #[document(of = {S})]`"
)]
pub trait ReadAt<S, M> {
    /// See [`Projection::node`].
    #[doc(hidden)]
    fn node_at(path: RawPath) -> Node;
}

impl<S, M: Direct, P: Projection<S>> ReadAt<S, M> for P {
    fn node_at(path: RawPath) -> Node {
        P::node(path)
    }
}

impl<S, P> ReadAt<S, Maybe> for Option<P>
where
    Option<P>: Projection<S>,
{
    fn node_at(path: RawPath) -> Node {
        <Self as Projection<S>>::node(path).optional()
    }
}

impl<S, P> ReadAt<S, InVariant> for Option<P>
where
    Option<P>: Projection<S>,
{
    fn node_at(path: RawPath) -> Node {
        <Self as Projection<S>>::node(path).optional()
    }
}

/// A path whose value a projection can read: also that of an encrypted field.
#[doc(hidden)]
pub trait Selected {
    /// The type of the value.
    type Value;
    /// The mode of the path.
    type Mode;
    /// The path of the value.
    fn selected(&self) -> RawPath;
}

#[diagnostic::do_not_recommend]
impl<A: AsPath> Selected for A {
    type Value = A::Value;
    type Mode = A::Mode;
    fn selected(&self) -> RawPath {
        to_value_path(self)
    }
}

impl<R, T: EncryptedField, Q, M: Mode> Selected for EncryptedPath<R, T, Q, M> {
    type Value = T;
    type Mode = M;
    fn selected(&self) -> RawPath {
        self.raw().clone()
    }
}

/// The part of a value that is read.
#[doc(hidden)]
#[derive(Debug)]
pub enum Node {
    /// The whole value.
    Whole,
    /// Some fields: their names in the result, their values, and the parts of these.
    Fields(Vec<(&'static str, Raw, Node)>),
    /// A part of a value that can be null.
    Optional(Box<Node>),
    /// A part of each element of an array, by inclusion or as the body of a `$map` with a variable.
    Each {
        /// The part of an element at the path of the array.
        plain: Box<Node>,
        /// The part of the variable.
        mapped: Box<Node>,
        /// The name of the variable.
        name: String,
    },
}

/// The accessors of a stored type at a path. The derive calls it.
#[doc(hidden)]
pub fn stored<S: Field>(path: &RawPath) -> Fields<S> {
    S::nav(Path::from_raw(path.clone()))
}

/// The result of the closure of a computed field. The derive calls it.
#[doc(hidden)]
pub fn computed<S: Field, E>(path: &RawPath, value: impl FnOnce(Fields<S>) -> E) -> E {
    value(stored::<S>(path))
}

/// The fields of a projection. The derive fills it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Selection(Vec<(&'static str, Raw, Node)>);

impl Selection {
    /// Adds a field of type `P` that is read from a path.
    #[must_use]
    pub fn field<P: ReadAt<A::Value, A::Mode>, A: Selected>(mut self, name: &'static str, path: &A) -> Self {
        let path = path.selected();
        self.0.push((name, field_path(&path), P::node_at(path)));
        self
    }

    /// Adds a computed field.
    #[must_use]
    pub fn computed<P, R>(mut self, name: &'static str, value: impl IntoExpr<R, P>) -> Self {
        let value = value.into_expr().into_raw().map(|value| match value {
            value @ (Bson::Document(_) | Bson::String(_)) => value,
            plain => doc! { "$literal": plain }.into(),
        });
        self.0.push((name, value, Node::Whole));
        self
    }

    /// The fields.
    #[must_use]
    pub fn finish(self) -> Node {
        Node::Fields(self.0)
    }
}

impl Node {
    fn optional(self) -> Self {
        match self {
            Node::Whole | Node::Optional(_) => self,
            part => Node::Optional(Box::new(part)),
        }
    }

    /// Whether the names are those of the stored value at a path, so that its fields can be
    /// included.
    fn is_plain(&self, at: &str) -> bool {
        match self {
            Node::Whole => true,
            Node::Fields(fields) => fields.iter().all(|(name, from, node)| {
                let here = if at.is_empty() {
                    (*name).to_owned()
                } else {
                    format!("{at}.{name}")
                };
                matches!(from, Ok(Bson::String(path)) if *path == reference(&here)) && node.is_plain(&here)
            }),
            Node::Optional(inner) => inner.is_plain(at),
            // An inclusion leaves out the null elements of an array.
            Node::Each { plain, .. } => !matches!(**plain, Node::Optional(_)) && plain.is_plain(at),
        }
    }

    fn into_inclusion(self) -> Bson {
        match self {
            Node::Whole => Bson::Int32(1),
            Node::Fields(fields) => {
                let fields = fields.into_iter();
                let included = fields.map(|(name, _, node)| (name.to_owned(), node.into_inclusion()));
                Bson::Document(included.collect())
            }
            Node::Optional(inner) | Node::Each { plain: inner, .. } => inner.into_inclusion(),
        }
    }

    fn into_expression(self, from: Raw) -> Raw {
        match self {
            Node::Whole => from,
            Node::Fields(fields) => {
                let fields = fields.into_iter();
                let all = fields.map(|(name, from, node)| Ok((name.to_owned(), node.into_expression(from)?)));
                all.collect::<std::result::Result<Document, _>>()
                    .map(Bson::Document)
            }
            Node::Optional(inner) => match *inner {
                Node::Whole => from,
                inner => {
                    let from = from?;
                    let present = inner.into_expression(Ok(from.clone()))?;
                    let is_null = doc! { "$eq": [{ "$ifNull": [from, Bson::Null] }, Bson::Null] };
                    Ok(doc! { "$cond": [is_null, Bson::Null, present] }.into())
                }
            },
            Node::Each { mapped, name, .. } => match *mapped {
                Node::Whole => from,
                mapped => {
                    let element = mapped.into_expression(Ok(Bson::String(format!("$${name}"))))?;
                    Ok(doc! { "$map": { "input": from?, "as": name, "in": element } }.into())
                }
            },
        }
    }
}

/// The projection document of `P`, for `find` and `$project`.
///
/// # Errors
/// [`Error::InvalidPipeline`] for a path that has no form in an expression; [`Error::Encode`] for a
/// value of a computed field.
pub(crate) fn document<P: Projection<S>, S>() -> Result<Document> {
    build(P::node(RawPath::default())).map_err(|e| *e)
}

/// The value of a field at the top level of a projection. There the server adds the fields of a document
/// to each element if the stored document has an array of this name.
fn computed_field(value: Bson) -> Bson {
    match value {
        Bson::Document(fields) if !fields.keys().next().is_some_and(|key| key.starts_with('$')) => {
            doc! { "$mergeObjects": [fields] }.into()
        }
        value => value,
    }
}

fn build(node: Node) -> std::result::Result<Document, Box<Error>> {
    let Node::Fields(fields) = node else {
        return Ok(Document::new());
    };
    let mut out = Document::new();
    if !fields.iter().any(|(name, ..)| *name == "_id") {
        out.insert("_id", 0);
    }
    for (name, from, node) in fields {
        let is_same = matches!(&from, Ok(Bson::String(path)) if *path == reference(name));
        let value = if is_same && node.is_plain(name) {
            node.into_inclusion()
        } else {
            computed_field(node.into_expression(from)?)
        };
        out.insert(name, value);
    }
    Ok(out)
}
