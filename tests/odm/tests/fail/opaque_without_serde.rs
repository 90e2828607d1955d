use marula::Document;

struct Blob {
    bytes: String,
}

#[derive(Document)]
#[document(collection = "files")]
struct File {
    _id: i64,
    #[document(opaque)]
    blob: Blob,
    #[document(as = "String")]
    at: chrono::DateTime<chrono::Utc>,
}

fn main() {
    let blob = Blob { bytes: String::new() };
    drop(blob.bytes);
}
