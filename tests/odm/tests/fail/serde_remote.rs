use marula::Embedded;
use serde::{Deserialize, Serialize};

struct Foreign {
    number: i32,
}

impl Foreign {
    fn number(&self) -> &i32 {
        &self.number
    }
}

impl From<Own> for Foreign {
    fn from(own: Own) -> Self {
        Foreign { number: own.number }
    }
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(remote = "Foreign")]
struct Own {
    #[serde(getter = "Foreign::number")]
    number: i32,
}

fn main() {}
