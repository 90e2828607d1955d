//! The declared index of a query, compared with the plans of the server.

use crate::common::Env;
use marula::bson::{Bson, DateTime, Document as BsonDocument, doc};
use marula::collection::Find;
use marula::driver::options::Collation;
use marula::prelude::*;
use marula::schema::Apply;
use marula::{Collection, Document, Embedded, Filter, index::IndexBranch};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
enum Status {
    Open,
    Paid,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    qty: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(
    collection = "invoices",
    index(customer, -created_at),
    index(number, unique),
    index(due, partial(status == Status::Open && total > 10)),
    index(email, collation(locale = "en", strength = 2)),
    index(code, sparse),
    index(secret, hidden),
    index(lines.sku, lines.qty),
    index(region, city, created_at),
    index(tags, rank)
)]
struct Invoice {
    _id: i64,
    customer: i64,
    number: i64,
    status: Status,
    total: i64,
    due: Option<DateTime>,
    email: String,
    code: Option<String>,
    secret: i64,
    lines: Vec<Line>,
    tags: Vec<String>,
    region: String,
    city: String,
    rank: i64,
    created_at: DateTime,
}

fn invoice(id: i64) -> Invoice {
    Invoice {
        _id: id,
        customer: id % 7,
        number: id,
        status: if id % 2 == 0 { Status::Open } else { Status::Paid },
        total: id,
        due: (id % 3 == 0).then(|| DateTime::from_millis(id)),
        email: format!("user{id}@example.org"),
        code: (id % 4 == 0).then(|| format!("code {id}")),
        secret: id,
        lines: (0..2)
            .map(|n| Line {
                sku: format!("sku {}", id % 5 + n),
                qty: i32::try_from(id).expect("a small number"),
            })
            .collect(),
        tags: vec![format!("tag {}", id % 3), "all".to_owned()],
        region: format!("region {}", id % 3),
        city: format!("city {}", id % 9),
        rank: id,
        created_at: DateTime::from_millis(id * 1000),
    }
}

type Query<'c> = Find<'c, Invoice>;

/// A query, the expected text, and whether the plan of the server is compared with it. The planner of the test server does
/// not merge ranges in the order of a sort, leave fixed keys out of a sort, use indexes for `$elemMatch`, sort by the keys beside
/// an array, or ignore conditions after a key without one, as MongoDB does.
struct Case {
    query: fn(&Collection<Invoice>) -> Query<'_>,
    expected: &'static str,
    is_compared: bool,
}

macro_rules! cases {
    ($($invoices:ident: $query:expr => $expected:literal $(, $differs:ident)?;)*) => {
        vec![$(Case {
            query: |$invoices| $query,
            expected: $expected,
            is_compared: true $(&& cases!(@ $differs))?,
        }),*]
    };
    (@ differs) => { false };
}

fn cases() -> Vec<Case> {
    cases! {
        c: c.find_all() => "no declared index: the query reads all documents";
        c: c.find(|i| i._id().eq(3)) => "index _id_ by equality on _id";
        c: c.find(|i| i._id().gt(3)).sort(|i| i._id().desc()) => "index _id_ by sort on _id, range on _id";
        c: c.find_all().sort(|i| i._id().asc()) => "index _id_ by sort on _id";
        c: c.find(|i| i.customer().eq(1)) => "index customer_1_created_at_-1 by equality on customer";
        c: c.find(|i| i.customer().eq(1)).sort(|i| i.created_at().desc())
            => "index customer_1_created_at_-1 by equality on customer, sort on created_at";
        c: c.find(|i| i.customer().eq(1)).sort(|i| (i.customer().asc(), i.created_at().asc()))
            => "index customer_1_created_at_-1 by equality on customer, sort on created_at", differs;
        c: c.find(|i| i.customer().is_in([1, 2])).sort(|i| i.created_at().desc())
            => "index customer_1_created_at_-1 by equality on customer, sort on created_at", differs;
        c: c.find(|i| i.customer().eq(1) & i.created_at().gt(DateTime::from_millis(5)))
            => "index customer_1_created_at_-1 by equality on customer, range on created_at";
        c: c.find(|i| i.customer().gt(1)) => "index customer_1_created_at_-1 by range on customer";
        c: c.find(|i| i.customer().eq(1)).sort(|i| i.total().asc())
            => "index customer_1_created_at_-1 by equality on customer; sorted in memory: add index(customer, total)";
        c: c.find(|i| i.created_at().gt(DateTime::from_millis(5)))
            => "no declared index: add index(created_at)";
        c: c.find_all().sort(|i| (i.customer().desc(), i.created_at().asc()))
            => "index customer_1_created_at_-1 by sort on customer, created_at";
        c: c.find(|i| i.created_at().eq(DateTime::from_millis(5))).sort(|i| (i.customer().asc(), i.created_at().desc()))
            => "index customer_1_created_at_-1 by sort on customer, created_at";
        c: c.find_all().sort(|i| (i.customer().asc(), i.created_at().asc()))
            => "no declared index: add index(customer, created_at)";
        c: c.find(|i| i.number().eq(5) & i.customer().eq(5)) => "index number_1 by equality on number";
        c: c.find(|i| i.total().eq(5)).sort(|i| i.rank().desc())
            => "no declared index: add index(total, -rank)";
        // Partial indexes.
        c: c.find(|i| i.due().lt(DateTime::from_millis(9)) & i.status().eq(Status::Open) & i.total().gt(20))
            => "index due_1 by range on due";
        c: c.find(|i| i.due().lt(DateTime::from_millis(9)) & i.status().eq(Status::Open) & i.total().eq(11))
            => "index due_1 by range on due";
        c: c.find(|i| i.due().lt(DateTime::from_millis(9)) & i.status().eq(Status::Open) & i.total().gte(10))
            => "no declared index: add index(status, due)";
        c: c.find(|i| i.due().lt(DateTime::from_millis(9)) & i.total().gt(20)) => "no declared index: add index(due)";
        c: c.find(|i| i.due().lt(DateTime::from_millis(9)) & (i.status().eq(Status::Open) | i.total().gt(20)))
            => "no declared index: add index(status, due) | no declared index: add index(due)";
        // A collation, a sparse and a hidden index.
        c: c.find(|i| i.email().eq("a")) => "no declared index: add index(email)";
        c: c.find(|i| i.email().eq("a")).collation(english()) => "index email_1 by equality on email";
        c: c.find(|i| i.customer().eq(1)).collation(english())
            => "index customer_1_created_at_-1 by equality on customer", differs;
        c: c.find(|i| i.region().eq("a")).collation(english()) => "no declared index: add index(region)";
        c: c.find(|i| i.code().eq("a")) => "index code_1 by equality on code";
        c: c.find(|i| i.code().eq(None::<String>)) => "no declared index: add index(code)";
        c: c.find_all().sort(|i| i.code().asc()) => "no declared index: add index(code)";
        c: c.find(|i| i.secret().eq(1)) => "no declared index: add index(secret)";
        // Arrays.
        c: c.find(|i| i.lines().sku().eq("sku 1")) => "index lines.sku_1_lines.qty_1 by equality on lines.sku";
        c: c.find(|i| i.lines().elem_match(|l| l.sku().eq("sku 1") & l.qty().gt(2)))
            => "index lines.sku_1_lines.qty_1 by equality on lines.sku, range on lines.qty", differs;
        c: c.find(|i| i.lines().sku().eq("sku 1") & i.lines().qty().gt(2))
            => "index lines.sku_1_lines.qty_1 by equality on lines.sku";
        c: c.find(|i| i.tags().contains("all")).sort(|i| i.rank().asc())
            => "index tags_1_rank_1 by equality on tags, sort on rank", differs;
        c: c.find(|i| i.tags().contains("all") & i.rank().gt(5)).sort(|i| i.rank().asc())
            => "index tags_1_rank_1 by equality on tags, range on rank; sorted in memory";
        c: c.find(|i| i.customer().eq(1) & i.tags().contains("all")).sort(|i| i.tags().asc())
            => "index customer_1_created_at_-1 by equality on customer; sorted in memory: add index(customer, tags)", differs;
        c: c.find(|i| i._id().eq(3)).sort(|i| i.total().asc()) => "index _id_ by equality on _id";
        // Keys between the others.
        c: c.find(|i| i.region().eq("region 1") & i.created_at().gt(DateTime::from_millis(5))).sort(|i| i.city().asc())
            => "index region_1_city_1_created_at_1 by equality on region, sort on city, range on created_at", differs;
        c: c.find(|i| i.city().eq("city 1")).sort(|i| (i.region().asc(), i.created_at().asc()))
            => "no declared index: add index(city, region, created_at)", differs;
        c: c.find(|i| i.region().eq("region 1") & i.city().ne("city 1"))
            => "index region_1_city_1_created_at_1 by equality on region, range on city";
        c: c.find(|i| i.region().starts_with("reg")) => "index region_1_city_1_created_at_1 by range on region";
        // Alternatives.
        c: c.find(|i| i.customer().eq(1) | i.number().eq(9))
            => "index customer_1_created_at_-1 by equality on customer | index number_1 by equality on number";
        c: c.find(|i| i.customer().eq(1) | i.total().eq(9))
            => "index customer_1_created_at_-1 by equality on customer | no declared index: add index(total)";
        c: c.find(|i| i.total().eq(1) & (i.customer().eq(1) | i.number().eq(9)))
            => "index customer_1_created_at_-1 by equality on customer | index number_1 by equality on number";
        c: c.find(|i| i.number().eq(1) & (i.customer().eq(1) | i.total().eq(9))) => "index number_1 by equality on number";
        // Conditions that select no keys.
        c: c.find(|i| !(i.customer().eq(1) & i.number().eq(2))) => "no declared index: the query reads all documents";
        c: c.find(|i| i.tags().size(2)) => "no declared index: the query reads all documents";
    }
}

fn english() -> Collation {
    let mut collation = Collation::default();
    collation.locale = "en".to_owned();
    collation.strength = Some(2);
    collation
}

/// The plan of the reply to `explain`. That of a mongos has a plan for each shard, of which a collection that is not sharded
/// has one.
fn winning_plan(reply: &BsonDocument) -> &BsonDocument {
    let planner = reply.get_document("queryPlanner").expect("a planner");
    let plan = planner.get_document("winningPlan").expect("a plan");
    match plan.get_array("shards").ok().map(Vec::as_slice) {
        Some([Bson::Document(shard)]) => shard.get_document("winningPlan").expect("a plan of the shard"),
        Some(_) => panic!("not one shard: {plan}"),
        None => plan,
    }
}

/// The names of the indexes that a plan reads.
fn indexes_of(stage: &BsonDocument, into: &mut Vec<String>) {
    if let Ok(name) = stage.get_str("indexName") {
        into.push(name.to_owned());
    }
    // Since MongoDB 8.0 a lookup by `_id` has a stage of its own.
    if stage
        .get_str("stage")
        .is_ok_and(|name| name == "IDHACK" || name == "EXPRESS_CLUSTERED_IXSCAN")
    {
        into.push("_id_".to_owned());
    }
    for inner in ["inputStage", "queryPlan"] {
        if let Ok(inner) = stage.get_document(inner) {
            indexes_of(inner, into);
        }
    }
    let all = stage.get_array("inputStages").into_iter().flatten();
    all.filter_map(Bson::as_document)
        .for_each(|inner| indexes_of(inner, into));
}

fn has_stage(stage: &BsonDocument, name: &str) -> bool {
    let inner = ["inputStage", "queryPlan"]
        .into_iter()
        .filter_map(|inner| stage.get_document(inner).ok());
    let all = stage.get_array("inputStages").into_iter().flatten();
    stage.get_str("stage").is_ok_and(|stage| stage == name)
        || inner
            .chain(all.filter_map(Bson::as_document))
            .any(|inner| has_stage(inner, name))
}

#[tokio::test]
async fn declared_indexes_are_those_of_the_plans() {
    let env = Env::start().await;
    // Hidden indexes.
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let invoices = env.db.collection::<Invoice>();
    let plan = env.db.schema().register::<Invoice>().plan().await.unwrap();
    plan.apply(Apply::additive()).await.unwrap();
    let all: Vec<Invoice> = (0..200).map(invoice).collect();
    invoices.insert_many(&all).await.unwrap();
    let mut differences = Vec::new();
    for case in cases() {
        let choice = (case.query)(&invoices).declared_index().unwrap();
        let text = choice.to_string();
        if text != case.expected {
            differences.push(format!("found {text}, expected {}", case.expected));
        }
        if !case.is_compared {
            continue;
        }
        let reply = (case.query)(&invoices).explain().unwrap().await.unwrap();
        let plan = winning_plan(&reply);
        let mut planned = Vec::new();
        indexes_of(plan, &mut planned);
        let chosen: Vec<&str> = choice
            .branches()
            .iter()
            .filter_map(|branch| match branch {
                IndexBranch::Index(used) => Some(&*used.name),
                _ => None,
            })
            .collect();
        let is_same = if choice.is_collection_scan() {
            has_stage(plan, "COLLSCAN")
        } else {
            planned == chosen && has_stage(plan, "SORT") != choice.is_sorted()
        };
        if !is_same {
            differences.push(format!("{text}: {plan}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    env.stop().await;
}

#[tokio::test]
async fn parts_that_are_not_compared_are_unknown() {
    let env = Env::start().await;
    let invoices = env.db.collection::<Invoice>();
    for (query, expected) in [
        (
            invoices.find(|i| i.customer().eq(1) & Filter::raw(doc! { "total": 1 })),
            "unknown: the filter contains a raw part",
        ),
        (
            invoices.find(|i| i.customer().eq(1) & Filter::text("copper")),
            "unknown: the query is a text search",
        ),
        (
            invoices.find(|i| i.customer().eq(1)).hint("mine"),
            "unknown: the query has the hint of an index that is not declared",
        ),
        (
            invoices.find(|i| i.customer().eq(1)).hint("number_1"),
            "no declared index: add index(customer)",
        ),
        (
            invoices
                .find(|i| i.customer().eq(1) & i.number().eq(2))
                .hint(doc! { "customer": 1, "created_at": -1 }),
            "index customer_1_created_at_-1 by equality on customer",
        ),
        (
            invoices.find(|i| i.customer().eq(1)).hint(doc! { "$natural": 1 }),
            "no declared index: the query reads all documents",
        ),
    ] {
        let choice = query.declared_index().unwrap();
        assert_eq!(choice.to_string(), expected);
        let is_unknown = expected.starts_with("unknown");
        assert_eq!(choice.is_unknown(), is_unknown);
        assert_eq!(choice.prefix() == 0, !expected.starts_with("index"));
    }
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(
    collection = "notes",
    soft_delete = deleted_at,
    index(tenant, created_at, partial(deleted_at == None)),
    index(kind, tenant)
)]
struct Note {
    _id: i64,
    tenant: String,
    kind: String,
    created_at: DateTime,
    deleted_at: Option<DateTime>,
}

#[tokio::test]
async fn the_conditions_of_the_handle_count() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let own = notes.scoped(|n| n.tenant().eq("acme"));
    let text = |choice: Result<marula::index::IndexChoice, marula::Error>| choice.unwrap().to_string();
    assert_eq!(
        text(own.find_all().sort(|n| n.created_at().desc()).declared_index()),
        "index tenant_1_created_at_1 by equality on tenant, sort on created_at"
    );
    assert_eq!(
        text(own.find(|n| n.kind().eq("memo")).declared_index()),
        "index kind_1_tenant_1 by equality on kind, tenant"
    );
    // Without the condition that the document is not deleted, the partial index does not have all of them.
    let all = own.with_deleted();
    assert_eq!(
        text(all.find_all().sort(|n| n.created_at().desc()).declared_index()),
        "no declared index: add index(tenant, -created_at)"
    );
    assert_eq!(
        text(notes.find(|n| n.kind().gte("a")).declared_index()),
        "index kind_1_tenant_1 by range on kind"
    );
    let choice = own.find(|n| n.kind().eq("memo")).declared_index().unwrap();
    assert_eq!((choice.name(), choice.prefix()), (Some("kind_1_tenant_1"), 2));
    env.stop().await;
}
