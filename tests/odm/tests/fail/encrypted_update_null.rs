use marula::{Document, Embedded, Model, Update};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Address {
    #[document(encrypted(equality))]
    street: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[document(encrypted)]
    notes: String,
    #[document(encrypted(equality))]
    ssn: String,
    #[document(encrypted(range(min = 0, max = 200)))]
    age: i32,
    address: Address,
}

fn main() {
    let p = Patient::fields();
    let _: Update<Patient> = p.notes().set(None::<String>);
}
