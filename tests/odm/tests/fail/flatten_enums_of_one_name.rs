use marula::Embedded;

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Card { note: String },
    Cash,
}

#[derive(Embedded)]
#[serde(tag = "way")]
enum Delivery {
    Post { note: String },
    Shop,
}

#[derive(Embedded)]
struct Order {
    #[serde(flatten)]
    payment: Payment,
    #[serde(flatten)]
    delivery: Delivery,
}

fn main() {}
