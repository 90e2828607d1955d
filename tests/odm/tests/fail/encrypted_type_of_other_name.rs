use marula::Document;
use serde::{Deserialize, Serialize};

type String = marula::bson::ObjectId;

mod own {
    use marula::Embedded;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Embedded)]
    pub struct Vec<T: marula::Field> {
        pub only: T,
    }
}
use own::Vec;

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted(equality))]
    reference: String,
    #[document(encrypted)]
    numbers: Vec<i32>,
}

fn main() {}
