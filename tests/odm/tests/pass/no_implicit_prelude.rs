//! The code of the derives needs no names in scope, also not those of the standard prelude.
#![no_implicit_prelude]

#[expect(dead_code, unreachable_pub, reason = "the types need only to compile")]
mod models {
    #[::core::prelude::v1::derive(::marula::Document)]
    #[document(
        collection = "orders",
        index(customer, -total),
        soft_delete = deleted_at,
        schema_version(2, upgrade = upgrade)
    )]
    pub struct Order {
        pub _id: i64,
        pub customer: ::std::string::String,
        pub total: ::core::option::Option<i64>,
        pub lines: ::std::vec::Vec<Line>,
        pub payment: Payment,
        pub deleted_at: ::core::option::Option<::marula::bson::DateTime>,
        #[document(version)]
        pub version: i64,
    }

    #[::core::prelude::v1::derive(::marula::Embedded)]
    pub struct Line {
        pub sku: ::std::string::String,
        #[serde(default)]
        pub qty: i32,
    }

    #[::core::prelude::v1::derive(::marula::Embedded)]
    #[serde(tag = "type")]
    pub enum Payment {
        Card { last4: ::std::string::String },
        Cash,
    }

    #[::core::prelude::v1::derive(::marula::Document)]
    #[document(collection = "events", kind = "click")]
    pub struct Click {
        pub _id: i64,
        #[serde(flatten)]
        pub line: Line,
    }

    #[::core::prelude::v1::derive(::marula::Projection)]
    #[document(of = Order)]
    pub struct Total {
        pub total: ::core::option::Option<i64>,
    }

    #[::core::prelude::v1::derive(::marula::Shape)]
    pub struct Count {
        pub count: i64,
    }

    fn upgrade(_: u32, _: &mut ::marula::bson::Document) -> ::core::result::Result<(), &'static str> {
        ::core::result::Result::Ok(())
    }
}

#[::core::prelude::v1::test]
fn names_are_found() {
    use ::marula::{FilterOps as _, Model as _};
    use ::std::string::ToString as _;
    let filter = models::Order::fields().customer().eq("a");
    ::core::assert_eq!(filter.to_string(), r#"{"customer": {"$eq": "a"}}"#);
    ::core::assert_eq!(models::Order::indexes().len(), 1);
    ::core::assert_eq!(
        models::Click::fields().line().qty().eq(1).to_string(),
        r#"{"qty": {"$eq": 1}}"#
    );
}
