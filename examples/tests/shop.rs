//! The shop over HTTP: every route and every status it can return.

mod http;

use http::App;
use marula::bson::{DateTime, Document, doc};
use serde_json::{Value, json};
use uuid::Uuid;

fn new_customer(email: &str) -> Value {
    json!({
        "name": "Thandi",
        "email": email,
        "address": { "street": "Long Street 1", "city": "Cape Town", "country": "ZA" },
    })
}

async fn customer(app: &App, email: &str) -> String {
    let made = app.post("/customers", &new_customer(email)).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.id()
}

fn new_order(customer: &str, skus: &[&str]) -> Value {
    let line = |sku: &&str| json!({ "sku": sku, "quantity": 2, "priceCents": 495 });
    json!({ "customerId": customer, "lines": skus.iter().map(line).collect::<Vec<_>>() })
}

async fn order(app: &App, customer: &str, skus: &[&str]) -> String {
    let made = app.post("/orders", &new_order(customer, skus)).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.id()
}

#[tokio::test]
async fn indexes_are_created_once() {
    let Some(app) = App::start().await else { return };
    let first = app.plan.to_string();
    for index in [
        r#"+ create   email_1 {"email": 1} unique: true collation: {"locale": "en", "strength": 2}"#,
        r#"+ create   customerId_1_createdAt_-1 {"customerId": 1, "createdAt": -1}"#,
        r#"+ create   lines.sku_1 {"lines.sku": 1}"#,
        r#"+ create   open_orders {"createdAt": 1} partialFilterExpression: {"status": {"$eq": "open"}}"#,
    ] {
        assert!(first.contains(index), "{index} is not in\n{first}");
    }
    let again = marula_examples::shop::sync_indexes(&app.db).await.unwrap();
    assert!(again.is_empty() && again.conflict().is_none(), "{again}");
    if let Some(server) = &app.server {
        assert_eq!(
            server.commands_seen("createIndexes"),
            2,
            "one for each collection"
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn customers_are_created_and_found() {
    let Some(app) = App::start().await else { return };
    let made = app.post("/customers", &new_customer("Thandi@example.com")).await;
    assert_eq!(made.status, 201);
    let path = format!("/customers/{}", made.id());
    assert_eq!(made.header("location"), Some(path.as_str()));
    let id: Uuid = made.id().parse().unwrap();
    assert_eq!(id.get_version_num(), 7);

    let shown = app.get(&path).await;
    let mut expected = new_customer("Thandi@example.com");
    expected["id"] = json!(made.id());
    assert_eq!((shown.status, shown.body), (200, expected.clone()));

    customer(&app, "sipho@example.com").await;
    let found = app.get("/customers?email=tHANDI@example.com").await;
    assert_eq!(found.body["items"], json!([expected]));
    let unknown = app.get("/customers?email=unknown@example.com").await;
    assert_eq!((unknown.status, &unknown.body["items"]), (200, &json!([])));

    let first = app.get("/customers?limit=1").await;
    assert_eq!(first.body["items"], json!([expected]));
    let next = first.body["next"].as_str().expect("a second page");
    let second = app.get(&format!("/customers?limit=1&cursor={next}")).await;
    assert_eq!(second.body["items"][0]["email"], "sipho@example.com");
    assert_eq!(second.body["next"], Value::Null);
    app.stop().await;
}

#[tokio::test]
async fn a_duplicate_email_address_is_a_conflict_that_names_the_index() {
    let Some(app) = App::start().await else { return };
    customer(&app, "thandi@example.com").await;
    let taken = app.post("/customers", &new_customer("THANDI@example.com")).await;
    assert_eq!(taken.status, 409);
    assert_eq!(taken.body["code"], "duplicate");
    assert_eq!(taken.body["index"], "email_1");
    if app.server.is_some() || taken.body.get("fields").is_some() {
        assert_eq!(taken.body["fields"], json!(["email"]));
    } else {
        eprintln!("not checked: the deployment sends no keyPattern");
    }
    assert!(!taken.text().contains("thandi"), "{taken:?}");
    app.stop().await;
}

#[tokio::test]
async fn invalid_customers_are_rejected_with_all_invalid_fields() {
    let Some(app) = App::start().await else { return };
    let mut wrong = new_customer("not an address");
    wrong["name"] = json!(" ");
    wrong["address"]["country"] = json!("South Africa");
    let refused = app.post("/customers", &wrong).await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.problems(), ["name", "email", "address.country"]);

    let mut unknown = new_customer("a@example.com");
    unknown["nickname"] = json!("T");
    assert_eq!(app.post("/customers", &unknown).await.status, 422);
    assert_eq!(app.post("/customers", &json!({ "name": "T" })).await.status, 422);
    assert_eq!(
        app.send("POST", "/customers", Some("{")).await.status,
        400,
        "not JSON"
    );
    assert_eq!(app.get("/customers/7").await.status, 400, "not a UUID");
    assert_eq!(
        app.get("/customers?mail=x").await.status,
        400,
        "unknown parameter"
    );
    let missing = app.get(&format!("/customers/{}", Uuid::nil())).await;
    assert_eq!(
        (missing.status, &missing.body["code"]),
        (404, &json!("not_found"))
    );
    app.stop().await;
}

#[tokio::test]
async fn orders_are_created_for_existing_customers() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let mut new = new_order(&thandi, &["tea", "cup"]);
    new["note"] = json!("ring twice");
    let made = app.post("/orders", &new).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["status"], "open");
    assert_eq!(made.body["totalCents"], 4 * 495);
    assert_eq!(made.body["lines"], new["lines"]);
    assert_eq!(made.body["note"], "ring twice");
    // RFC 3339 in UTC with milliseconds, as `Date.toISOString` of JavaScript.
    let created = made.body["createdAt"].as_str().unwrap();
    assert!(DateTime::parse_rfc3339_str(created).is_ok() && created.ends_with('Z'));
    assert_eq!(created.len(), "2024-05-06T07:08:09.120Z".len());
    assert_eq!(made.body["paidAt"], Value::Null);
    let shown = app.get(&format!("/orders/{}", made.id())).await;
    assert_eq!((shown.status, &shown.body), (200, &made.body));

    let unknown = app
        .post("/orders", &new_order(&Uuid::nil().to_string(), &["tea"]))
        .await;
    assert_eq!((unknown.status, unknown.problems()), (422, vec!["customerId"]));
    let twice = app.post("/orders", &new_order(&thandi, &["tea", "tea"])).await;
    assert_eq!((twice.status, twice.problems()), (422, vec!["lines[1].sku"]));
    let empty = app.post("/orders", &new_order(&thandi, &[])).await;
    assert_eq!((empty.status, empty.problems()), (422, vec!["lines"]));
    let mut invalid = new_order(&thandi, &["tea"]);
    invalid["lines"][0]["quantity"] = json!(0);
    invalid["lines"][0]["priceCents"] = json!(-1);
    let invalid = app.post("/orders", &invalid).await;
    assert_eq!(
        (invalid.status, invalid.problems()),
        (422, vec!["lines[0].quantity", "lines[0].priceCents"])
    );
    app.stop().await;
}

#[tokio::test]
async fn orders_are_listed_by_filters() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let sipho = customer(&app, "sipho@example.com").await;
    let tea = order(&app, &thandi, &["tea"]).await;
    let both = order(&app, &thandi, &["cup", "tea"]).await;
    let other = order(&app, &sipho, &["tea"]).await;
    assert_eq!(
        app.send("POST", &format!("/orders/{tea}/pay"), None).await.status,
        200
    );

    let listed = async |query: String| {
        let list = app.get(&format!("/orders?{query}")).await;
        assert_eq!(list.status, 200, "{query}: {list:?}");
        let mut ids = list.ids();
        ids.sort();
        ids
    };
    // UUIDv7 ids sort in creation order.
    assert_eq!(listed(String::new()).await, [&*tea, &*both, &*other]);
    assert_eq!(listed(format!("customer={thandi}")).await, [&*tea, &*both]);
    assert_eq!(listed("status=open".to_owned()).await, [&*both, &*other]);
    assert_eq!(listed("sku=cup".to_owned()).await, [&*both]);
    assert_eq!(
        listed(format!("customer={thandi}&status=paid&sku=tea")).await,
        [&*tea]
    );
    assert!(listed(format!("customer={sipho}&sku=cup")).await.is_empty());
    assert_eq!(app.get("/orders?status=lost").await.status, 400);
    app.stop().await;
}

#[tokio::test]
async fn pages_visit_every_order_once_in_both_directions() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(order(&app, &thandi, &["tea"]).await);
    }
    let first = app.get("/orders?limit=2").await;
    assert_eq!(first.body["previous"], Value::Null);
    let (mut seen, mut page) = (first.ids(), first.body.clone());
    let mut last = None;
    while let Some(next) = page["next"].as_str() {
        let reply = app.get(&format!("/orders?limit=2&cursor={next}")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        seen.extend(reply.ids());
        page = reply.body.clone();
        last = Some(reply);
    }
    let back = last.expect("more than one page").body["previous"].clone();
    let back = app
        .get(&format!("/orders?limit=2&cursor={}", back.as_str().unwrap()))
        .await;
    assert_eq!(back.ids(), seen[2..4]);
    let dates = app.get("/orders?limit=100").await;
    assert_eq!(dates.ids(), seen, "one large page has the same order");
    seen.sort();
    assert_eq!(seen, made);

    for query in ["limit=0", "limit=101", "cursor=AAAA", "cursor=%00"] {
        let refused = app.get(&format!("/orders?{query}")).await;
        assert_eq!(
            (refused.status, &refused.body["code"]),
            (422, &json!("invalid")),
            "{query}"
        );
    }
    let foreign = app.get("/customers?limit=1&cursor=").await;
    assert_eq!(foreign.status, 422);
    app.stop().await;
}

#[tokio::test]
async fn only_the_selected_line_is_changed() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let id = order(&app, &thandi, &["cup", "green tea", "pot"]).await;
    let other = order(&app, &thandi, &["green tea"]).await;
    let line = format!("/orders/{id}/lines/green%20tea");
    let changed = app.patch(&line, &json!({ "quantity": 7 })).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let quantities = |body: &Value| -> Vec<u64> {
        let lines = body["lines"].as_array().expect("lines");
        lines.iter().filter_map(|l| l["quantity"].as_u64()).collect()
    };
    assert_eq!(quantities(&changed.body), [2, 7, 2]);
    assert_eq!(changed.body["totalCents"], 11 * 495);
    assert_eq!(app.get(&format!("/orders/{id}")).await.body, changed.body);
    let untouched = app.get(&format!("/orders/{other}")).await;
    assert_eq!(quantities(&untouched.body), [2]);

    let no_line = app
        .patch(&format!("/orders/{id}/lines/mug"), &json!({ "quantity": 1 }))
        .await;
    assert_eq!(
        (no_line.status, &no_line.body["message"]),
        (404, &json!("the line does not exist"))
    );
    let no_order = app
        .patch(
            &format!("/orders/{}/lines/cup", Uuid::nil()),
            &json!({ "quantity": 1 }),
        )
        .await;
    assert_eq!(
        (no_order.status, &no_order.body["message"]),
        (404, &json!("the order does not exist"))
    );
    for quantity in [json!(0), json!(1001), json!(-1), json!("2")] {
        let refused = app.patch(&line, &json!({ "quantity": quantity })).await;
        assert_eq!(refused.status, 422, "{quantity}");
    }
    app.send("POST", &format!("/orders/{id}/pay"), None).await;
    let fixed = app.patch(&line, &json!({ "quantity": 1 })).await;
    assert_eq!((fixed.status, &fixed.body["code"]), (409, &json!("conflict")));
    app.stop().await;
}

#[tokio::test]
async fn one_of_several_concurrent_payments_succeeds() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let path = format!("/orders/{}/pay", order(&app, &thandi, &["tea"]).await);
    let pay = || app.send("POST", &path, None);
    let (a, b, c, d) = tokio::join!(pay(), pay(), pay(), pay());
    let replies = [a, b, c, d];
    let mut statuses = replies.each_ref().map(|r| r.status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409]);
    let paid = replies.iter().find(|r| r.status == 200).unwrap();
    assert_eq!(paid.body["status"], "paid");
    assert!(
        paid.body["paidAt"]
            .as_str()
            .is_some_and(|date| date.ends_with('Z'))
    );
    let missing = app
        .send("POST", &format!("/orders/{}/pay", Uuid::nil()), None)
        .await;
    assert_eq!(missing.status, 404);
    app.stop().await;
}

#[tokio::test]
async fn deleted_orders_are_not_found() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let path = format!("/orders/{}", order(&app, &thandi, &["tea"]).await);
    let deleted = app.send("DELETE", &path, None).await;
    assert_eq!((deleted.status, deleted.body), (204, Value::Null));
    assert_eq!(app.get(&path).await.status, 404);
    assert_eq!(app.send("DELETE", &path, None).await.status, 404);
    app.stop().await;
}

#[tokio::test]
async fn unknown_routes_and_methods_return_json() {
    let Some(app) = App::start().await else { return };
    let route = app.get("/baskets").await;
    assert_eq!((route.status, &route.body["code"]), (404, &json!("not_found")));
    let method = app.send("DELETE", "/customers", None).await;
    assert_eq!((method.status, &method.body["code"]), (405, &json!("unreadable")));
    app.stop().await;
}

#[tokio::test]
async fn internal_errors_reveal_no_details() {
    let Some(app) = App::start().await else { return };
    let thandi = customer(&app, "thandi@example.com").await;
    let id = order(&app, &thandi, &["tea"]).await;
    let changed = app
        .db
        .driver()
        .collection::<Document>("orders")
        .update_one(doc! {}, doc! { "$set": { "lines.0.quantity": "two" } })
        .await
        .unwrap();
    assert_eq!(changed.modified_count, 1);
    let failed = app.get(&format!("/orders/{id}")).await;
    assert_eq!((failed.status, &failed.body["code"]), (500, &json!("internal")));
    assert!(
        !failed.text().contains("quantity") && !failed.text().contains(&id),
        "{failed:?}"
    );
    app.stop().await;
}

#[tokio::test]
async fn server_errors_map_to_a_status_by_their_code() {
    let Some(app) = App::start().await else { return };
    let admin = app.client.driver().database("admin");
    // MaxTimeMSExpired, DocumentValidationFailure, Unauthorized.
    for (code, status, name) in [
        (50, 503, "unavailable"),
        (121, 422, "invalid"),
        (13, 500, "internal"),
    ] {
        let failing = admin
            .run_command(doc! {
                "configureFailPoint": "failCommand",
                "mode": { "times": 1 },
                "data": { "failCommands": ["insert"], "errorCode": code, "appName": app.db.name() },
            })
            .await;
        if let (Err(error), None) = (&failing, &app.server) {
            eprintln!("skipped: the deployment has no fail points: {error}");
            return app.stop().await;
        }
        failing.unwrap();
        let failed = app.post("/customers", &new_customer("thandi@example.com")).await;
        assert_eq!(
            (failed.status, &failed.body["code"]),
            (status, &json!(name)),
            "{code}"
        );
        assert_eq!(failed.header("retry-after").is_some(), status == 503);
    }
    customer(&app, "thandi@example.com").await;
    app.stop().await;
}

#[tokio::test]
async fn an_unreachable_database_is_a_503_with_retry_after() {
    // Accepts connections and never replies.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let client = marula::connect(format!("mongodb://{address}/?serverSelectionTimeoutMS=50"))
        .await
        .unwrap();
    let shop = http::Served::start(&client.database("shop")).await;
    for path in ["/orders".to_owned(), format!("/customers/{}", Uuid::nil())] {
        let failed = shop.send("GET", &path, None).await;
        assert_eq!(
            (failed.status, &failed.body["code"]),
            (503, &json!("unavailable"))
        );
        assert_eq!(failed.header("retry-after"), Some("5"));
        assert!(!failed.text().contains("127.0.0.1"), "{failed:?}");
    }
    shop.stop().await;
    client.shutdown().await;
}
