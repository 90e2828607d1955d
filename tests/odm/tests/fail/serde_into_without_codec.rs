use marula::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Wire {
    cents: i64,
}

#[derive(Clone, Embedded)]
#[serde(from = "Wire", into = "Wire")]
struct Money {
    cents: i64,
}

impl From<Wire> for Money {
    fn from(wire: Wire) -> Self {
        Money { cents: wire.cents }
    }
}

impl From<Money> for Wire {
    fn from(money: Money) -> Self {
        Wire { cents: money.cents }
    }
}

fn main() {}
