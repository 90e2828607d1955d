use marula::Document;
use marula::bson::DateTime;

#[derive(Document)]
#[serde(tag = "kind")]
#[document(
    collection = "orders",
    soft_delete = deleted_at,
    index(total),
    index(open.totl),
    index(paid),
    search_index(dynamic, number(opne.total))
)]
enum Order {
    Open {
        _id: i64,
        #[document(version)]
        version: i64,
        #[document(created_at)]
        created_at: DateTime,
        #[document(updated_at)]
        updated_at: DateTime,
        deleted_at: Option<DateTime>,
        #[document(index)]
        total: i64,
    },
    Paid {
        _id: i64,
        #[document(unique)]
        total: i64,
    },
}

fn main() {}
