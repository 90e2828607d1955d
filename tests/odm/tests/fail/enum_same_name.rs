use marula::Embedded;

#[derive(Embedded)]
enum Level {
    #[serde(rename = "x")]
    Low,
    #[serde(rename = "x")]
    High,
}

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Event {
    Start { at: i64 },
    #[serde(alias = "Start")]
    Stop { at: i64 },
}

#[derive(Embedded)]
struct Person {
    name: String,
    #[serde(alias = "name", alias = "nick")]
    called: String,
    #[serde(alias = "nick")]
    known: String,
}

fn main() {}
