//! Types with parameters of any kind, and models that are enums.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use marula::bson::{DateTime, ObjectId, doc};
use marula::expr::eq;
use marula::{Document, Embedded, Model, Pipeline, Ref, prelude::*};

/// An id that knows its model. The parameter can be any type.
#[derive(Embedded)]
struct Id<D>(ObjectId, PhantomData<fn() -> D>);

#[derive(Embedded)]
#[serde(transparent)]
struct Tagged<T: ?Sized, V>
where
    V: Clone,
{
    #[serde(skip)]
    #[expect(dead_code, reason = "the field is not stored")]
    seen: bool,
    value: V,
    of: PhantomData<T>,
}

#[derive(Embedded)]
struct Wrapper<T>(T);

#[derive(Embedded)]
struct Many<T>(Vec<T>);

#[derive(Embedded)]
struct Grid<const N: usize = 2> {
    cells: [i32; N],
}

#[derive(Embedded)]
struct Row<T, const N: usize>([T; N]);

#[derive(Embedded)]
struct Marker<const N: u8>;

#[derive(Embedded)]
enum Level<const N: u8> {
    Low,
    High,
}

#[derive(Embedded)]
enum Change<T> {
    To(T),
    Both { old: T, new: T, of: PhantomData<T> },
    Of(PhantomData<T>),
    None,
}

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Internal<T, const N: usize> {
    Fields { value: T, cells: [i32; N] },
    Document(Grid<N>),
    Unit,
}

#[derive(Embedded)]
#[serde(tag = "kind", content = "content")]
enum Adjacent<T> {
    Fields { value: T },
    Value(T),
    Unit,
}

#[derive(Embedded)]
#[serde(untagged)]
enum Untagged<T> {
    Fields { value: T },
    Value(T),
}

#[derive(Clone, Embedded)]
#[serde(from = "Vec<T>", into = "Vec<T>")]
struct Converted<T: Clone> {
    items: Vec<T>,
}

impl<T: Clone> From<Vec<T>> for Converted<T> {
    fn from(items: Vec<T>) -> Self {
        Converted { items }
    }
}

impl<T: Clone> From<Converted<T>> for Vec<T> {
    fn from(converted: Converted<T>) -> Self {
        converted.items
    }
}

/// Has no typed paths, and cannot be sent between threads.
struct Local(#[expect(dead_code, reason = "the type is only a parameter")] *const u8);

#[derive(Document)]
#[document(collection = "orders", index(customer), index(grid.cells), index(change.both.new))]
struct Order {
    #[serde(rename = "_id")]
    #[document(id = object_id)]
    id: Id<Order>,
    customer: Id<Customer>,
    buyer: Ref<Customer>,
    local: Id<Local>,
    text: Tagged<str, String>,
    wrapper: Wrapper<i64>,
    many: Many<i64>,
    grid: Grid,
    row: Row<i64, 3>,
    marker: Marker<1>,
    level: Level<7>,
    change: Change<i64>,
    internal: Internal<String, 2>,
    adjacent: Adjacent<i64>,
    untagged: Untagged<i64>,
    converted: Converted<i64>,
    by_id: BTreeMap<String, Id<Local>>,
}

#[derive(Document)]
#[document(collection = "customers")]
struct Customer {
    #[serde(rename = "_id")]
    id: Id<Customer>,
    name: String,
}

#[derive(Embedded)]
struct Secret<T>(String, PhantomData<T>);

#[derive(Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(equality))]
    number: Secret<Order>,
}

/// A parameter that is not in a stored field.
#[derive(Document)]
#[document(collection = "events")]
struct Event<T, P: 'static> {
    #[serde(rename = "_id")]
    id: ObjectId,
    payload: T,
    of: PhantomData<fn() -> P>,
}

/// The parameter of the id is also that of the model.
#[derive(Document)]
#[document(collection = "notes")]
struct Note<D> {
    _id: Id<D>,
    about: Id<D>,
}

fn text(filter: &marula::Filter<Order>) -> String {
    filter.to_string()
}

#[test]
fn newtypes_have_the_operators_and_values_of_their_content() {
    let o = Order::fields();
    let id = ObjectId::from_bytes([1; 12]);
    let hex = id.to_hex();
    assert_eq!(
        text(&o.id().eq(id)),
        format!(r#"{{"_id": {{"$eq": {{"$oid": "{hex}"}}}}}}"#)
    );
    assert_eq!(
        text(&o.customer().eq(Id(id, PhantomData))),
        text(&o.customer().eq(id))
    );
    assert_eq!(text(&o.local().gt(id)), text(&o.local().gt(Id(id, PhantomData))));
    assert_eq!(text(&o.text().starts_with("a")), r#"{"text": {"$regex": "^a"}}"#);
    assert_eq!(text(&(*o.text()).eq("a")), r#"{"text": {"$eq": "a"}}"#);
    assert_eq!(text(&o.wrapper().gt(Wrapper(1))), r#"{"wrapper": {"$gt": 1}}"#);
    assert_eq!(text(&(*o.wrapper()).gt(1)), r#"{"wrapper": {"$gt": 1}}"#);
    assert_eq!(text(&(*o.many()).contains(2)), r#"{"many": {"$eq": 2}}"#);
    assert_eq!(text(&o.many().eq(vec![1, 2])), r#"{"many": {"$eq": [1, 2]}}"#);
    assert_eq!(
        text(&o.row().eq(Row([1, 2, 3]))),
        r#"{"row": {"$eq": [1, 2, 3]}}"#
    );
    assert_eq!(text(&o.row().eq([1, 2, 3])), r#"{"row": {"$eq": [1, 2, 3]}}"#);
    assert_eq!(text(&o.marker().eq(Marker)), r#"{"marker": {"$eq": null}}"#);
    assert_eq!(text(&o.level().eq(Level::High)), r#"{"level": {"$eq": "High"}}"#);
    assert_eq!(text(&o.level().ne(Level::Low)), r#"{"level": {"$ne": "Low"}}"#);
    let converted = Converted { items: vec![1] };
    assert_eq!(
        text(&o.converted().eq(converted)),
        r#"{"converted": {"$eq": [1]}}"#
    );
    assert_eq!(
        text(&o.grid().eq(Grid { cells: [1, 2] })),
        r#"{"grid": {"$eq": {"cells": [1, 2]}}}"#
    );
    assert_eq!(
        text(&o.grid().cells().contains(1)),
        r#"{"grid.cells": {"$eq": 1}}"#
    );
}

#[test]
fn variants_of_generic_enums_have_paths() {
    let o = Order::fields();
    assert_eq!(text(&o.change().to().gt(1)), r#"{"change.To": {"$gt": 1}}"#);
    assert_eq!(
        text(&o.change().both().new().eq(1)),
        r#"{"change.Both.new": {"$eq": 1}}"#
    );
    assert_eq!(
        text(&o.change().is_of()),
        text(&o.change().eq(Change::Of(PhantomData)))
    );
    assert_eq!(
        text(&o.internal().fields().value().eq("a")),
        r#"{"internal.value": {"$eq": "a"}, "internal.kind": {"$eq": "Fields"}}"#
    );
    assert_eq!(
        text(&o.internal().document().cells().contains(1)),
        r#"{"internal.cells": {"$eq": 1}, "internal.kind": {"$eq": "Document"}}"#
    );
    assert_eq!(
        text(&o.internal().is_unit()),
        r#"{"internal.kind": {"$eq": "Unit"}}"#
    );
    assert_eq!(
        text(&o.adjacent().fields().value().eq(1)),
        r#"{"adjacent.content.value": {"$eq": 1}, "adjacent.kind": {"$eq": "Fields"}}"#
    );
    assert_eq!(
        text(&o.adjacent().value().eq(1)),
        r#"{"adjacent.content": {"$eq": 1}, "adjacent.kind": {"$eq": "Value"}}"#
    );
    let values = [Untagged::Fields { value: 1 }, Untagged::Value(2)];
    assert_eq!(
        text(&o.untagged().is_in(values)),
        r#"{"untagged": {"$in": [{"value": 1}, 2]}}"#
    );
    let internal = Internal::Fields {
        value: "a".to_owned(),
        cells: [1, 2],
    };
    assert_eq!(
        text(&o.internal().ne(internal)),
        r#"{"internal": {"$ne": {"kind": "Fields", "value": "a", "cells": [1, 2]}}}"#
    );
    let both = Change::Both {
        old: 1,
        new: 2,
        of: PhantomData,
    };
    assert_eq!(
        text(&o.change().eq(both)),
        r#"{"change": {"$eq": {"Both": {"old": 1, "new": 2}}}}"#
    );
    assert!(text(&o.change().is_in([Change::To(1), Change::None])).contains("None"));
}

#[test]
fn ids_have_the_sources_of_their_content() {
    assert_ne!(Order::new_id().0, Order::new_id().0);
    assert_ne!(Customer::new_id().0, Customer::new_id().0);
    assert_ne!(Event::<i64, Local>::new_id(), Event::<i64, Local>::new_id());
    let note = Note::<Customer> {
        _id: Note::<Customer>::new_id(),
        about: Customer::new_id(),
    };
    assert_ne!(note.id().0, note.about.0);
}

#[test]
fn ids_are_keys_and_are_joined() {
    let p = Pipeline::<Order>::new().match_expr(|o| eq(o.customer(), o.buyer()));
    assert!(
        p.to_string().contains(r#"{"$eq": ["$customer", "$buyer"]}"#),
        "{p}"
    );
    let id = || Id::<Customer>(ObjectId::from_bytes([1; 12]), PhantomData);
    let filter = Order::fields().buyer().eq(Ref::new(id()));
    assert!(text(&filter).contains(&id().0.to_hex()));
    fn is_key<D: Model>(_: impl marula::relation::KeyOf<D>) {}
    is_key::<Customer>(id());
    is_key::<Customer>(&id());
    is_key::<Customer>(Some(id()));
    fn is_operand<T: marula::expr::Operand<Order>>(_: T) {}
    is_operand(id());
    is_operand(Grid { cells: [0; 4] });
    is_operand(Change::To(1));
}

#[test]
fn newtypes_with_parameters_are_encrypted() {
    let fields = Patient::encrypted_fields().unwrap();
    assert!(fields.to_string().contains(r#""bsonType": "string""#), "{fields}");
    let filter = Patient::fields().number().eq("1");
    assert!(filter.to_string().starts_with(r#"{"number""#));
}

#[test]
fn parameters_are_in_the_schema() {
    let schema = Order::json_schema();
    let properties = schema.get_document("properties").unwrap();
    let of = |name: &str| properties.get_document(name).unwrap().clone();
    assert_eq!(of("_id"), doc! { "bsonType": "objectId" });
    assert_eq!(of("local"), of("_id"));
    assert_eq!(of("level"), doc! { "enum": ["Low", "High"] });
    assert_eq!(of("grid").get_document("properties").unwrap().keys().count(), 1);
    assert!(!Event::<i64, Local>::json_schema().to_string().contains("of"));
}

/// The documents of one collection.
#[derive(Document)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[document(
    collection = "vehicles",
    index(car.plate, unique, partial(car.plate > "")),
    index(truck.max_load, -id),
    json_schema,
    clustered,
    validate = Vehicle::check,
    schema_version(1)
)]
enum Vehicle {
    /// Up to nine people.
    Car {
        #[serde(rename = "_id")]
        #[document(id = uuid_v7)]
        id: Option<uuid::Uuid>,
        plate: String,
        built: DateTime,
    },
    Truck {
        #[serde(rename = "_id")]
        #[document(id = uuid_v7)]
        id: Option<uuid::Uuid>,
        max_load: i64,
    },
}

impl Vehicle {
    fn check(&self) -> Result<(), String> {
        match self {
            Vehicle::Car { plate, .. } if plate.is_empty() => Err("a car has a plate".to_owned()),
            _ => Ok(()),
        }
    }
}

#[derive(Document)]
#[serde(tag = "type")]
#[document(collection = "messages")]
enum Message<T, const N: usize> {
    Text { _id: i64, text: T },
    Cells { _id: i64, cells: [i32; N] },
}

#[test]
fn an_enum_is_a_model() {
    let v = Vehicle::fields();
    assert_eq!(v.id().is_null().to_string(), r#"{"_id": {"$eq": null}}"#);
    assert_eq!(v.is_car().to_string(), r#"{"kind": {"$eq": "car"}}"#);
    assert_eq!(
        v.truck().max_load().gt(5).to_string(),
        r#"{"maxLoad": {"$gt": 5}, "kind": {"$eq": "truck"}}"#
    );
    let car = Vehicle::Car {
        id: Vehicle::new_id(),
        plate: String::new(),
        built: DateTime::from_millis(0),
    };
    assert_eq!(car.id().unwrap().get_version_num(), 7);
    let names: Vec<String> = Vehicle::indexes()
        .iter()
        .map(marula::index::IndexDeclaration::index_name)
        .collect();
    assert_eq!(names, ["plate_1", "maxLoad_1__id_-1"]);
    let schema = Vehicle::json_schema();
    assert_eq!(schema.get_array("anyOf").unwrap().len(), 2, "{schema}");
    let text = Message::<String, 2>::Text {
        _id: 5,
        text: "a".to_owned(),
    };
    assert_eq!(text.id(), &5);
    assert_eq!(
        Message::<String, 2>::fields()
            .cells()
            .cells()
            .contains(1)
            .to_string(),
        r#"{"cells": {"$eq": 1}, "type": {"$eq": "Cells"}}"#
    );
}
