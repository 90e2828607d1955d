use marula::{Collection, Document, Ref};

#[derive(Document)]
#[document(collection = "customers")]
struct Customer {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "products")]
struct Product {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    customer: Ref<Customer>,
    note: String,
}

async fn run(orders: Collection<Order>, products: Collection<Product>) -> marula::Result<()> {
    orders.find_all().with(|o| o.customer(), &products).await?;
    orders.find_all().with(|o| o.note(), &products).await?;
    products.find_all().with_many(&orders, |o| o.customer()).await?;
    Ok(())
}

fn main() {}
