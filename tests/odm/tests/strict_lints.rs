//! The generated code has no warnings in crates with strict lints.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    private_interfaces,
    private_bounds,
    rust_2018_idioms,
    single_use_lifetimes,
    trivial_casts,
    unreachable_pub,
    unused,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![forbid(unsafe_code)]

/// The models are public in a module, as in an application.
pub mod models {
    use marula::{Document, Embedded, Projection, Shape};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    pub(crate) struct Hidden(String);

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    #[serde(tag = "kind")]
    pub(crate) enum Payment {
        Card { last_four: Hidden },
        Cash,
    }

    /// An order.
    #[derive(Debug, Serialize, Deserialize, Document)]
    #[document(collection = "orders", index(number, -payment))]
    pub struct Order {
        _id: i64,
        /// Its number.
        pub number: i64,
        pub(crate) payment: Payment,
    }

    /// An id with the type of its model.
    #[derive(Debug, Embedded)]
    pub struct Id<D>(pub(crate) i64, std::marker::PhantomData<fn() -> D>);

    /// Numbers.
    #[derive(Debug, Embedded)]
    pub struct Grid<const N: usize> {
        /// The numbers.
        pub cells: [i32; N],
    }

    /// A document of one of two forms.
    #[derive(Debug, Document)]
    #[serde(tag = "kind")]
    #[document(collection = "vehicles", index(truck.load))]
    pub enum Vehicle<T = String> {
        /// With people.
        Car {
            /// The id.
            _id: Id<Order>,
            /// The plate.
            plate: T,
        },
        /// With a load.
        Truck {
            /// The id.
            _id: Id<Order>,
            /// The load.
            load: Grid<2>,
        },
    }

    /// The number of an order.
    #[derive(Debug, Serialize, Deserialize, Projection)]
    #[document(of = Order)]
    pub struct Number {
        /// Its number.
        pub number: i64,
    }

    /// The orders of a number.
    #[derive(Debug, Serialize, Deserialize, Shape)]
    pub struct Numbered {
        #[serde(rename = "_id")]
        pub(crate) number: i64,
        /// The orders.
        pub orders: Vec<Order>,
    }

    /// An order and the number of its payments.
    #[derive(Debug, Serialize, Deserialize, Shape)]
    pub struct Counted {
        /// The order.
        #[serde(flatten)]
        pub order: Order,
        /// The number.
        pub payments: i64,
    }

    impl Order {
        pub(crate) fn new(last_four: Option<&str>) -> Self {
            let payment = last_four.map_or(Payment::Cash, |d| Payment::Card {
                last_four: Hidden(d.to_owned()),
            });
            Order {
                _id: 1,
                number: 1,
                payment,
            }
        }
    }
}

#[test]
fn generated_code_passes_strict_lints() {
    use marula::prelude::*;
    let order = models::Order::new(Some("1"));
    assert_eq!(*order.id(), models::Order::new(None).number);
    let filter = models::Order::fields().payment().is_card();
    assert_eq!(filter.to_string(), r#"{"payment.kind": {"$eq": "Card"}}"#);
}
