//! Stored forms by `marula::forms`.

use std::time::Duration;

use crate::database::Env;
use marula::bson::{Binary, doc, spec::BinarySubtype};
use marula::{Document, forms, prelude::*};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "coded")]
struct Coded {
    _id: i64,
    #[document(as = forms::U128)]
    large: u128,
    #[document(as = forms::I128)]
    signed: i128,
    #[document(as = forms::Millis)]
    took: Duration,
    #[document(as = forms::JavaUuid)]
    java: Uuid,
    #[document(as = forms::CSharpUuid)]
    csharp: Uuid,
    #[document(as = forms::PythonUuid)]
    python: Uuid,
}

fn coded(id: i64, large: u128, signed: i128) -> Coded {
    let uuid = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    Coded {
        _id: id,
        large,
        signed,
        took: Duration::from_millis(1_500),
        java: uuid,
        csharp: uuid,
        python: uuid,
    }
}

#[tokio::test]
async fn values_are_stored_in_the_form_and_the_order_of_the_codec() {
    let env = Env::open().await;
    let all = env.collection::<Coded>();
    let documents = [
        coded(1, 0, i128::MIN),
        coded(2, 255, -1),
        coded(3, 256, 0),
        coded(4, u128::MAX, i128::MAX),
    ];
    all.insert_many(&documents).await.unwrap();
    assert_eq!(all.find_all().sort(|c| c.large().asc()).await.unwrap(), documents);
    assert_eq!(
        all.find_all().sort(|c| c.signed().asc()).await.unwrap(),
        documents
    );
    assert_eq!(
        all.find(|c| c.large().lt(256) & c.signed().gte(-1))
            .await
            .unwrap(),
        documents[1..2]
    );
    assert_eq!(
        all.count(|c| c.took().gt(Duration::from_secs(1))).await.unwrap(),
        4
    );
    let java = documents[0].java;
    assert_eq!(
        all.count(|c| c.java().eq(java) & c.csharp().eq(java) & c.python().eq(java))
            .await
            .unwrap(),
        4
    );

    let raw = all.driver().clone_with_type::<marula::bson::Document>();
    let raw = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
    let old = |hex: &str| Binary {
        subtype: BinarySubtype::UuidOld,
        bytes: (0..16)
            .map(|n| u8::from_str_radix(&hex[n * 2..n * 2 + 2], 16).unwrap())
            .collect(),
    };
    assert_eq!(
        raw.get("java"),
        Some(&old("7766554433221100ffeeddccbbaa9988").into())
    );
    assert_eq!(
        raw.get("csharp"),
        Some(&old("33221100554477668899aabbccddeeff").into())
    );
    assert_eq!(
        raw.get("python"),
        Some(&old("00112233445566778899aabbccddeeff").into())
    );
    assert_eq!(raw.get_i64("took").unwrap(), 1_500);

    let mut precise = coded(5, 0, 0);
    precise.took = Duration::from_nanos(1);
    let error = all.insert_one(&precise).await.unwrap_err();
    assert!(
        error.to_string().contains("took") && error.to_string().contains("milliseconds"),
        "{error}"
    );
    env.close().await;
}

#[test]
fn json_has_the_form_of_the_type() {
    let json = serde_json::to_value(coded(1, 7, -7)).unwrap();
    assert_eq!((&json["large"], &json["signed"]), (&7.into(), &(-7).into()));
    assert_eq!(json["java"], "00112233-4455-6677-8899-aabbccddeeff");
}
