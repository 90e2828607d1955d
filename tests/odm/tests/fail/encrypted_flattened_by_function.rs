use marula::{Document, Embedded};

mod contact {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(contact: &super::Contact, serializer: S) -> Result<S::Ok, S::Error> {
        std::collections::BTreeMap::from([("phone", &contact.phone)]).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<super::Contact, D::Error> {
        let mut map = std::collections::BTreeMap::<String, String>::deserialize(deserializer)?;
        Ok(super::Contact { phone: map.remove("phone").unwrap_or_default() })
    }
}

#[derive(Embedded)]
struct Contact {
    #[document(encrypted)]
    phone: String,
}

#[derive(Document)]
#[document(collection = "patients")]
struct Patient {
    _id: i64,
    #[serde(flatten, with = "contact")]
    contact: Contact,
}

fn main() {}
