//! Encrypted fields of values that are stored in another form than that of their type.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use super::{Address, described};
use marula::bson::oid::ObjectId;
use marula::bson::{Bson, Document as BsonDocument};
use marula::{Document, Embedded, Model, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct VecMap<T>(Vec<T>);

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "mapped")]
struct Mapped {
    _id: i64,
    map: Tagged,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Tagged {
    Empty,
    Of {
        #[document(opaque)]
        count: i32,
    },
    All(#[document(opaque)] VecMap<Address>),
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Contact {
    None,
    Home(#[document(opaque)] Shared<Address>),
}

#[derive(Serialize, Deserialize)]
struct Shared<T>(Vec<T>);

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "reachable")]
struct Reachable {
    _id: i64,
    contact: Contact,
}

/// An id of a document, which contains none.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Id<T> {
    id: ObjectId,
    #[serde(skip)]
    of: PhantomData<fn() -> Arc<T>>,
}

described! {
    Id<Address> => ObjectId;
    Id<super::Patient> => ObjectId;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits")]
struct Visit {
    _id: i64,
    #[document(as = ObjectId)]
    address: Id<Address>,
    #[document(as = Vec<ObjectId>)]
    others: Vec<Id<Address>>,
    #[document(as = Option<ObjectId>)]
    last: Option<Id<super::Patient>>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Card {
    #[document(encrypted)]
    number: String,
    #[document(encrypted)]
    owner: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct NumberOfCard {
    #[document(encrypted)]
    number: String,
    owner: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct NamedCard {
    #[document(encrypted)]
    no: String,
    #[document(encrypted)]
    name: String,
}

described! {
    Card => NumberOfCard;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "cards")]
struct Paid {
    _id: i64,
    #[document(as = NumberOfCard)]
    card: Card,
}

/// Written by its own fields, and contains itself.
#[derive(Serialize, Deserialize, Embedded)]
#[serde(try_from = "RawTree")]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Deserialize, Embedded)]
struct RawTree {
    children: Vec<Tree>,
}

impl TryFrom<RawTree> for Tree {
    type Error = String;

    fn try_from(raw: RawTree) -> Result<Self, String> {
        Ok(Self {
            children: raw.children,
        })
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "trees")]
struct Planted {
    _id: i64,
    tree: Tree,
}

#[test]
fn a_type_with_a_conversion_can_contain_itself() {
    assert_eq!(Planted::json_schema().get_str("bsonType").unwrap(), "object");
    assert!(
        Planted::encrypted_fields()
            .unwrap()
            .get_array("fields")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn the_values_of_opaque_variants_and_of_maps_with_one_argument_are_found() {
    assert!(Mapped::encrypted_fields().is_err());
    assert!(Reachable::encrypted_fields().is_err());
}

#[test]
fn a_scalar_has_no_fields_of_its_type_arguments() {
    assert!(
        Visit::encrypted_fields()
            .unwrap()
            .get_array("fields")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_stated_type_has_all_encrypted_fields() {
    assert!(Paid::encrypted_fields().is_err());
    assert_eq!(paths(Converted::encrypted_fields()), ["card.no", "card.name"]);
    assert!(ConvertedAnyhow::encrypted_fields().is_err());
}

fn paths(fields: Result<BsonDocument, SchemaError>) -> Vec<String> {
    let fields = fields.expect("encrypted fields");
    let fields = fields.get_array("fields").expect("an array").iter();
    let path = |field: &Bson| Some(field.as_document()?.get_str("path").ok()?.to_owned());
    fields.filter_map(path).collect()
}

/// A function writes a card with other names.
mod renamed {
    use super::{Card, NamedCard};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(card: &Card, serializer: S) -> Result<S::Ok, S::Error> {
        let named = NamedCard {
            no: card.number.clone(),
            name: card.owner.clone(),
        };
        named.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Card, D::Error> {
        let NamedCard { no, name } = NamedCard::deserialize(deserializer)?;
        Ok(Card {
            number: no,
            owner: name,
        })
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "cards")]
struct Converted {
    _id: i64,
    #[serde(with = "renamed")]
    #[document(as = NamedCard)]
    card: Card,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Wallet {
    card: Card,
}

/// A function that writes the card of a wallet.
mod unwrapped {
    use super::{Card, Wallet};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(wallet: &Wallet, serializer: S) -> Result<S::Ok, S::Error> {
        wallet.card.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Wallet, D::Error> {
        Card::deserialize(deserializer).map(|card| Wallet { card })
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "cards")]
struct ConvertedAnyhow {
    _id: i64,
    #[serde(with = "unwrapped")]
    #[document(as = BsonDocument)]
    card: Wallet,
}

/// The encrypted fields of these types are those of a flattened type, a newtype's content and a field's type.
#[derive(Serialize, Deserialize, Embedded)]
struct Flattening {
    #[serde(flatten)]
    card: Card,
    valid: bool,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Around(Card);

#[derive(Serialize, Deserialize, Embedded)]
struct Nesting {
    wallet: Option<Wallet>,
}

/// Pointers to values that are stored in the same form.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Pointer<T>(Box<T>);

described! {
    Pointer<Card> => Flattening;
    Card => Around;
    Pointer<Card> => Around;
    NestedCard => Nesting;
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "cards")]
struct Forwarded {
    _id: i64,
    #[document(as = Flattening)]
    flattened: Pointer<Card>,
    #[document(as = Around)]
    around: Card,
    #[document(as = Option<Around>)]
    optional: Option<Pointer<Card>>,
    #[document(as = Nesting)]
    nested: NestedCard,
}

#[derive(Serialize, Deserialize, Embedded)]
struct NestedCard {
    wallet: Option<Wallet>,
    note: String,
}

#[test]
fn the_encrypted_fields_of_a_stated_type_can_be_those_of_a_type_in_it() {
    let names = |field: &str| ["number", "owner"].map(|name| format!("{field}.{name}"));
    let expected = ["flattened", "around", "optional", "nested.wallet.card"].map(names);
    assert_eq!(paths(Forwarded::encrypted_fields()), expected.concat());
}

type Nested = Arc<Mutex<Wallet>>;
type Several = Vec<Arc<Wallet>>;
type ByNumber = std::collections::BTreeMap<i32, Mutex<Wallet>>;
type Cached = std::sync::OnceLock<Arc<[Wallet]>>;

/// A map of another crate.
#[derive(Serialize, Deserialize)]
struct Entries<K, V>(Vec<(K, V)>);

impl<K, V> IntoIterator for Entries<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

type Boxed = Box<Wallet>;
type Optional = Option<Mutex<Wallet>>;
type InCell = Arc<Mutex<Option<Wallet>>>;
type BoxedCell = Box<Mutex<Wallet>>;
type Shelf = Vec<Arc<Mutex<Wallet>>>;
type Shelves = std::collections::HashMap<String, Arc<std::sync::RwLock<Wallet>>>;
// Not found: a cell in an `Option` or in a collection in another type.
type OptionalCell = Arc<Option<Mutex<Wallet>>>;
type CellsByNumber = std::collections::BTreeMap<i32, Vec<Mutex<Wallet>>>;
type ByKey = Entries<std::time::Duration, Wallet>;

macro_rules! hiding {
    ($($name:ident: $t:ty;)*) => { $(
        #[derive(Serialize, Deserialize, Document)]
        #[document(collection = "hiding")]
        struct $name {
            _id: i64,
            #[serde(skip_deserializing, serialize_with = "nothing", default = "unread")]
            #[document(opaque)]
            value: $t,
        }
    )* };
}

fn nothing<T, S: serde::Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

fn unread<T>() -> T {
    unreachable!("nothing is read")
}

hiding! {
    HidingNested: Nested;
    HidingSeveral: Several;
    HidingByNumber: ByNumber;
    HidingCached: Cached;
    HidingByKey: ByKey;
    HidingBoxed: Boxed;
    HidingOptional: Optional;
    HidingInCell: InCell;
    HidingBoxedCell: BoxedCell;
    HidingShelf: Shelf;
    HidingShelves: Shelves;
    NotFoundOptional: OptionalCell;
    NotFoundByNumber: CellsByNumber;
}

#[test]
fn aliases_of_pointers_cells_and_collections_show_their_values() {
    for (fields, name) in [
        (HidingNested::encrypted_fields(), "Nested"),
        (HidingSeveral::encrypted_fields(), "Several"),
        (HidingByNumber::encrypted_fields(), "ByNumber"),
        (HidingCached::encrypted_fields(), "Cached"),
        (HidingByKey::encrypted_fields(), "ByKey"),
        (HidingBoxed::encrypted_fields(), "Boxed"),
        (HidingOptional::encrypted_fields(), "Optional"),
        (HidingInCell::encrypted_fields(), "InCell"),
        (HidingBoxedCell::encrypted_fields(), "BoxedCell"),
        (HidingShelf::encrypted_fields(), "Shelf"),
        (HidingShelves::encrypted_fields(), "Shelves"),
    ] {
        assert!(fields.is_err(), "{name}");
    }
    // As documented.
    for (fields, name) in [
        (NotFoundOptional::encrypted_fields(), "OptionalCell"),
        (NotFoundByNumber::encrypted_fields(), "CellsByNumber"),
    ] {
        assert!(fields.is_ok(), "{name}");
    }
}

/// Two types whose names are the same, of which one contains the other.
trait HasPart {
    type Part;
}

struct Inner;
struct Outer;

const _: () = {
    #[derive(Serialize, Deserialize, Embedded)]
    struct Part {
        #[document(encrypted)]
        secret: String,
    }
    impl HasPart for Inner {
        type Part = Part;
    }
};

const _: () = {
    #[derive(Serialize, Deserialize, Embedded)]
    struct Part {
        name: String,
        part: <Inner as HasPart>::Part,
    }
    impl HasPart for Outer {
        type Part = Part;
    }
};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "wholes")]
struct Whole {
    _id: i64,
    part: <Outer as HasPart>::Part,
}

#[test]
fn types_of_the_same_name_are_different_types() {
    assert_eq!(
        std::any::type_name::<<Inner as HasPart>::Part>(),
        std::any::type_name::<<Outer as HasPart>::Part>()
    );
    let fields = Whole::encrypted_fields().unwrap();
    let field = fields.get_array("fields").unwrap()[0].as_document().unwrap();
    assert_eq!(field.get_str("path").unwrap(), "part.part.secret");
}
