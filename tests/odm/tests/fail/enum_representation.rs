use marula::Embedded;

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Cash(i32, i32),
    Card { number: String },
}

#[derive(Embedded)]
#[serde(tag = "t", content = "t")]
enum Same {
    A(i32),
}

#[derive(Embedded)]
#[serde(content = "c")]
enum NoTag {
    A(i32),
}

#[derive(Embedded)]
#[serde(tag = "t", untagged)]
enum Both {
    A { n: i32 },
}

fn main() {}
