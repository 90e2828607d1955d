//! Runs every task of the suites with few units and small data against the in-process server.

use std::{fs, path::PathBuf};

use marula_bench::suites::{
    client::BenchClient,
    measure::{Outcome, Target, TaskRun, measure},
};
use marula_bench_shared::harness::{Data, Task, data::Archive, rule::Rule};
use marula_test_server::TestServer;

const MISSING: [Task; 1] = [Task::OdmSmallFindForeignKey];

/// Data with the structure of the archives, which is removed on drop.
struct Sample(Data);

impl Sample {
    fn new(name: &str) -> Self {
        let name = format!("marula-bench-suites-{name}-{}", std::process::id());
        let data = Data::new(std::env::temp_dir().join(name));
        for (file, text) in [
            (
                "flat_bson.json",
                r#"{"_id": {"$oid": "566b3f8a7c9b1d2e3f4a5b6c"}, "a": 1, "b": "x"}"#,
            ),
            (
                "deep_bson.json",
                r#"{"left": {"left": "a", "right": "b"}, "right": {"left": "c"}}"#,
            ),
            (
                "full_bson.json",
                r#"{"a": {"$numberLong": "5"}, "b": {"$minKey": 1}, "c": [1.5, null]}"#,
            ),
        ] {
            write(&data.path(Archive::ExtendedBson, file), text);
        }
        for file in ["tweet.json", "small_doc.json", "large_doc.json"] {
            write(
                &data.path(Archive::Documents, file),
                r#"{"text": "hello", "id": 4294967297}"#,
            );
        }
        for (file, lines) in [("ldjson000.txt", 3), ("ldjson001.txt", 2), ("ldjson002.txt", 4)] {
            let path = data.path(Archive::Parallel, "ldjson_multi").join(file);
            write(&path, &"{\"text\": \"hello\", \"lang\": null}\n".repeat(lines));
        }
        let large = data.path(Archive::Documents, "gridfs_large.bin");
        write(&large, &"large ".repeat(100_000));
        for file in ["file0.txt", "file1.txt", "file2.txt"] {
            write(&data.path(Archive::Parallel, "gridfs_multi").join(file), file);
        }
        let fields = |from: u32, to: u32, text: bool| {
            let value = |n: u32| if text { format!("\"s{n}\"") } else { n.to_string() };
            let fields = (from..=to).map(|n| format!("\"field{n}\": {}", value(n)));
            fields.collect::<Vec<_>>().join(", ")
        };
        let small = format!("{{{}, {}}}", fields(1, 7, true), fields(8, 13, false));
        write(&data.path(Archive::FlatModels, "small_doc.json"), &small);
        let image = r#""image_field": {"$binary": {"base64": "aW1hZ2U=", "subType": "00"}}"#;
        let large = format!(
            "{{{}, {}, {image}}}",
            fields(1, 125, true),
            fields(126, 250, false)
        );
        write(&data.path(Archive::FlatModels, "large_doc.json"), &large);
        let strings = format!("{{{}}}", fields(1, 15, true));
        let numbers = format!("{{{}}}", fields(1, 15, false));
        let mut nested: Vec<_> = (1..=5)
            .map(|n| format!("\"embedded_str_doc_{n}\": {strings}"))
            .collect();
        nested.push(format!("\"embedded_str_doc_array\": [{strings}, {strings}]"));
        nested.extend((8..=14).map(|n| format!("\"embedded_int_doc_{n}\": {numbers}")));
        let nested = format!("{{{}}}", nested.join(", "));
        write(
            &data.path(Archive::NestedModels, "large_doc_nested.json"),
            &nested,
        );
        Self(data)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.root());
    }
}

fn write(path: &PathBuf, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
    fs::write(path, text).expect("the file is written");
}

fn target(task: Task, uri: &str, database: &str) -> Target {
    Target {
        client: BenchClient {
            name: "marula".to_owned(),
            program: env!("CARGO_BIN_EXE_suite-marula").into(),
        },
        uri: (!task.is_codec_only()).then(|| uri.to_owned()),
        database: database.to_owned(),
        server: None,
    }
}

fn task_run(task: Task, sample: &Sample) -> TaskRun {
    TaskRun {
        task,
        units: 3,
        rule: Rule {
            iterations: 2,
            ..Rule::quick()
        },
        data: sample.0.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_task_succeeds_or_is_not_supported() {
    // Transactions require a replica set.
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("a server");
    let sample = Sample::new("every");
    for task in Task::ALL {
        // Two clients, so that iterations alternate, each with its own database.
        let targets = ["perftest_a", "perftest_b"].map(|database| target(*task, &server.uri(), database));
        for outcome in measure(&targets, &task_run(*task, &sample)) {
            match outcome {
                Outcome::Measured(measured) => {
                    assert!(!MISSING.contains(task), "{task}");
                    let iterations = measured.times.seconds.len();
                    assert!(
                        (1..=2).contains(&iterations) && measured.times.score > 0.0,
                        "{task}"
                    );
                }
                Outcome::Missing(why) => {
                    assert!(MISSING.contains(task), "{task}: {why}");
                    assert!(why.starts_with("not supported: "), "{task}: {why}");
                }
                Outcome::Failed(why) => panic!("{task}: {why}"),
            }
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_reported() {
    let server = TestServer::builder().start().await.expect("a server");
    let sample = Sample::new("wrong");
    let failure =
        |task: Task, task_run: &TaskRun| match measure(&[target(task, &server.uri(), "perftest")], task_run)
            .pop()
        {
            Some(Outcome::Failed(why)) => why,
            other => panic!("{task}: {other:?}"),
        };
    let mut many = task_run(Task::LdjsonImport, &sample);
    many.units = 4;
    let why = failure(Task::LdjsonImport, &many);
    assert!(why.ends_with("expected 4 files, found 3"), "{why}");
    write(&sample.0.path(Archive::Documents, "small_doc.json"), "{");
    assert!(!failure(Task::SmallInsertOne, &task_run(Task::SmallInsertOne, &sample)).is_empty());
    fs::remove_file(sample.0.path(Archive::Documents, "tweet.json")).expect("it was there");
    let why = failure(Task::FindMany, &task_run(Task::FindMany, &sample));
    assert!(why.contains("tweet.json: "), "{why}");
    server.stop().await;
}
