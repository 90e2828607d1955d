use marula::{Collection, Document, Ref};

#[derive(Document)]
#[document(collection = "tags")]
struct Tag {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "articles")]
struct Article {
    _id: i64,
    tags: Vec<Ref<Tag>>,
}

async fn run(articles: Collection<Article>, tags: Collection<Tag>) -> marula::Result<()> {
    articles.find_all().with(|a| a.tags(), &tags).await?;
    tags.find_all().with_many(&articles, |a| a.tags()).per_parent(5).await?;
    tags.find_all().with_count(&articles, |a| a.tags()).await?;
    Ok(())
}

fn main() {}
