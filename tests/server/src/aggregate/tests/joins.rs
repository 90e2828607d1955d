//! Tests of `$graphLookup` and `$densify`.

use super::*;

fn with_employees() -> Catalog {
    let mut catalog = Catalog::default();
    let mut employees = Collection::new(None);
    for employee in [
        doc! { "_id": 1, "name": "Dev" },
        doc! { "_id": 2, "name": "Eliot", "boss": "Dev" },
        doc! { "_id": 3, "name": "Ron", "boss": "Eliot" },
        doc! { "_id": 4, "name": "Andrew", "boss": "Eliot" },
        doc! { "_id": 5, "name": "Asya", "boss": "Ron" },
        doc! { "_id": 6, "name": "Loop", "boss": ["Loop", "Asya"] },
        doc! { "_id": 7, "name": ["x", "y"], "boss": null },
    ] {
        employees.insert(employee, "db.employees", false).unwrap();
    }
    catalog.put(&Namespace::new("db", "employees").unwrap(), employees);
    catalog
}

fn reached(start: impl Into<Bson>, options: Document) -> Vec<(i32, Option<i64>)> {
    let mut stage = doc! {
        "from": "employees", "startWith": { "$literal": start.into() }, "connectFromField": "boss", "connectToField": "name",
        "as": "found",
    };
    stage.extend(options);
    let rows = run_in(
        &with_employees(),
        vec![doc! { "$graphLookup": stage }],
        vec![doc! {}],
    );
    let rows = rows.unwrap();
    let found = rows[0].get_array("found").unwrap().iter().map(|row| {
        let row = row.as_document().unwrap();
        (row.get_i32("_id").unwrap(), row.get_i64("depth").ok())
    });
    found.collect()
}

#[test]
fn graph_lookup_follows_connections() {
    let ids = |rows: Vec<(i32, Option<i64>)>| rows.into_iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(ids(reached("Asya", doc! {})), [5, 3, 2, 1]);
    assert_eq!(
        reached("Loop", doc! { "depthField": "depth", "maxDepth": 1 }),
        [(6, Some(0)), (5, Some(1))]
    );
    assert_eq!(
        ids(reached(vec!["Dev", "Andrew"], doc! { "maxDepth": 0 })),
        [1, 4]
    );
    assert_eq!(ids(reached("y", doc! {})), [7]);
    assert_eq!(ids(reached(Bson::Null, doc! {})), Vec::<i32>::new());
    let restricted = doc! { "restrictSearchWithMatch": { "name": { "$ne": "Ron" } } };
    assert_eq!(ids(reached("Asya", restricted)), [5]);
}

#[test]
fn malformed_graph_lookups() {
    let with = |changed: Document| {
        let mut stage = doc! {
            "from": "c", "startWith": "$a", "connectFromField": "a", "connectToField": "b", "as": "d",
        };
        stage.extend(changed);
        error(vec![doc! { "$graphLookup": stage }])
    };
    assert_eq!(error(vec![doc! { "$graphLookup": {} }]), 9);
    assert_eq!(error(vec![doc! { "$graphLookup": { "from": "c" } }]), 40105);
    assert_eq!(with(doc! { "from": 1 }), 9);
    assert_eq!(with(doc! { "as": 1 }), 40103);
    assert_eq!(with(doc! { "maxDepth": "x" }), 40100);
    assert_eq!(with(doc! { "maxDepth": -1 }), 40101);
    assert_eq!(with(doc! { "maxDepth": 0.5 }), 40102);
    assert_eq!(with(doc! { "restrictSearchWithMatch": 1 }), 40185);
    assert_eq!(with(doc! { "x": 1 }), 40104);
}

#[test]
fn joins_read_views() {
    let mut catalog = with_employees();
    let mut view = Collection::new(None);
    view.view = Some(crate::storage::collection::View {
        on: "employees".to_owned(),
        pipeline: vec![doc! { "$match": { "_id": { "$lt": 3 } } }.into()],
    });
    catalog.put(&Namespace::new("db", "few").unwrap(), view);
    let lookup = doc! { "$lookup": { "from": "few", "pipeline": [], "as": "f" } };
    let rows = run_in(&catalog, vec![lookup], vec![doc! {}]).unwrap();
    assert_eq!(rows[0].get_array("f").unwrap().len(), 2);
    let union = doc! { "$unionWith": "few" };
    assert_eq!(run_in(&catalog, vec![union], vec![]).unwrap().len(), 2);
}

fn dense(stage: Document, input: Vec<Document>) -> Vec<Bson> {
    let rows = run(vec![doc! { "$densify": stage }], input);
    rows.iter().map(|row| row.get("n").cloned().unwrap()).collect()
}

fn numbered(values: &[i32]) -> Vec<Document> {
    values.iter().map(|n| doc! { "n": n }).collect()
}

#[test]
fn densify_between_values_and_bounds() {
    let full = doc! { "field": "n", "range": { "step": 2, "bounds": "full" } };
    let ints = |values: &[i32]| values.iter().copied().map(Bson::Int32).collect::<Vec<_>>();
    assert_eq!(dense(full.clone(), numbered(&[1, 6])), ints(&[1, 3, 5, 6]));
    assert_eq!(dense(full, numbered(&[5, 1, 7])), ints(&[1, 3, 5, 7]));
    let bounded = doc! { "field": "n", "range": { "step": 1, "bounds": [2, 6] } };
    assert_eq!(
        dense(bounded.clone(), numbered(&[0, 3, 9])),
        ints(&[0, 2, 3, 4, 5, 9])
    );
    assert_eq!(dense(bounded, vec![]), ints(&[2, 3, 4, 5]));
    let nulls = doc! { "field": "n", "range": { "step": 1, "bounds": "full" } };
    assert_eq!(
        dense(nulls, vec![doc! { "n": null }, doc! { "n": 1 }]),
        [Bson::Null, Bson::Int32(1)]
    );
}

#[test]
fn densify_partitions_and_dates() {
    // The coffee data of the documentation.
    let coffee = || {
        let rows = [
            ("Arabica Typica", 600),
            ("Arabica Typica", 750),
            ("Arabica Typica", 950),
            ("Gesha", 600),
            ("Gesha", 700),
            ("Gesha", 1000),
        ];
        rows.map(|(variety, altitude)| doc! { "variety": variety, "n": altitude })
            .to_vec()
    };
    let stage = |bounds: Bson| doc! { "field": "n", "partitionByFields": ["variety"], "range": { "bounds": bounds, "step": 200 } };
    let rows = run(vec![doc! { "$densify": stage("full".into()) }], coffee());
    let of = |rows: &[Document], variety: &str| {
        let mut found: Vec<i32> = rows
            .iter()
            .filter(|row| row.get_str("variety").ok() == Some(variety))
            .map(|row| row.get_i32("n").unwrap())
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(of(&rows, "Arabica Typica"), [600, 750, 800, 950, 1000]);
    assert_eq!(of(&rows, "Gesha"), [600, 700, 800, 1000]);
    let rows = run(vec![doc! { "$densify": stage("partition".into()) }], coffee());
    assert_eq!(of(&rows, "Arabica Typica"), [600, 750, 800, 950]);
    assert_eq!(of(&rows, "Gesha"), [600, 700, 800, 1000]);
    let day = |text: &str| Bson::DateTime(bson::DateTime::parse_rfc3339_str(text).unwrap());
    let hours = doc! { "field": "n", "range": {
        "step": 1, "unit": "hour", "bounds": [day("2021-05-18T00:00:00Z"), day("2021-05-18T03:00:00Z")],
    } };
    let input = vec![
        doc! { "n": day("2021-05-18T00:00:00Z") },
        doc! { "n": day("2021-05-18T02:00:00Z") },
    ];
    assert_eq!(
        dense(hours, input),
        [
            "2021-05-18T00:00:00Z",
            "2021-05-18T01:00:00Z",
            "2021-05-18T02:00:00Z"
        ]
        .map(day)
    );
}

#[test]
fn malformed_densifies() {
    let range = |range: Document| {
        run_in(
            &Catalog::default(),
            vec![doc! { "$densify": { "field": "n", "range": range } }],
            vec![doc! { "n": 1 }],
        )
        .unwrap_err()
        .code
    };
    assert_eq!(error(vec![doc! { "$densify": { "field": "n" } }]), 40414);
    assert_eq!(range(doc! { "step": 0, "bounds": "full" }), 5_733_401);
    assert_eq!(range(doc! { "step": 1, "bounds": "partition" }), 5_733_408);
    assert_eq!(range(doc! { "step": 1, "bounds": "all" }), 5_946_802);
    assert_eq!(range(doc! { "step": 1, "bounds": 1 }), 5_733_404);
    assert_eq!(range(doc! { "step": 1, "bounds": [1] }), 5_733_403);
    assert_eq!(range(doc! { "step": 1, "bounds": [2, 1] }), 5_733_402);
    assert_eq!(range(doc! { "step": 1, "bounds": [1, "x"] }), 5_733_406);
    assert_eq!(range(doc! { "step": 1, "bounds": [1, 2.0] }), 5_876_900);
    assert_eq!(
        range(doc! { "step": 1, "unit": "day", "bounds": [1, 2] }),
        5_733_409
    );
    assert_eq!(
        range(doc! { "step": 0.5, "unit": "day", "bounds": "full" }),
        6_586_400
    );
    assert_eq!(
        range(doc! { "step": 1, "unit": "day", "bounds": "full" }),
        6_053_600
    );
    assert_eq!(range(doc! { "step": 1, "bounds": ["a", "b"] }), 5_946_800);
}
