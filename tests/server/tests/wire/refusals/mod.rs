//! Each row of the table of refusals: refused with its code and message by the versions and
//! deployments that the row names, and by no others.

mod aggregation;
mod collections;
mod contexts;
mod index_builds;
mod indexes;
mod options;
mod queries;
mod sharding;
mod stable_api;
mod timeseries;
mod transactions;
mod writes;

use crate::client::{Client, on};
use bson::{Bson, Document, doc};
use marula_test_server::{Refusal, TestServer, refusals};
use std::collections::BTreeSet;
use tokio::sync::OnceCell;

/// The test of one row.
pub(super) struct Case {
    /// The id of the row.
    id: &'static str,
    /// The commands that prepare the database. One that fails ends the case on that server, unless
    /// the server is one that must refuse the request.
    setup: Vec<Document>,
    /// The request that the row refuses. Its field `$db` is optional.
    request: Document,
    /// The reaction of a server that the row does not apply to.
    otherwise: Otherwise,
    /// The first version that has the commands of the case; older ones are not tested with it.
    since: (u32, u32),
}

/// The reaction of a server that a row does not apply to.
pub(super) enum Otherwise {
    /// It executes the request.
    Accepts,
    /// It refuses the request with one of these codes, because of another row or because it does not
    /// have the feature at all.
    Refuses(Vec<i32>),
    /// It executes the request, or refuses it with one of these codes, depending on the version.
    Either(Vec<i32>),
}

/// A case of a request that all other servers accept.
pub(super) fn case(id: &'static str, setup: Vec<Document>, request: Document) -> Case {
    Case {
        id,
        setup,
        request,
        otherwise: Otherwise::Accepts,
        since: (4, 2),
    }
}

impl Case {
    /// Sets what servers do that the row does not apply to.
    pub(super) fn otherwise(mut self, otherwise: Otherwise) -> Case {
        self.otherwise = otherwise;
        self
    }

    /// Sets the first version that has the commands of the case.
    pub(super) fn since(mut self, major: u32, minor: u32) -> Case {
        self.since = (major, minor);
        self
    }
}

const VERSIONS: [(u32, u32); 7] = [(4, 2), (4, 4), (5, 0), (6, 0), (7, 0), (8, 0), (8, 2)];

/// A server of the matrix.
struct Server {
    server: TestServer,
    version: (u32, u32),
    deployment: &'static str,
}

impl Server {
    fn refuses(&self, row: &Refusal) -> bool {
        row.versions.contains(self.version.0, self.version.1)
            && match self.deployment {
                "standalone" => row.deployments.standalone,
                "replica set" => row.deployments.replica_set,
                _ => row.deployments.sharded,
            }
    }
}

async fn start(version: (u32, u32), deployment: &'static str) -> Server {
    let builder = TestServer::builder().version(format!("{}.{}", version.0, version.1));
    let builder = match deployment {
        "standalone" => builder.standalone(),
        "replica set" => builder.replica_set(),
        "sharded" => builder.sharded(),
        _ => builder.load_balanced(),
    };
    Server {
        server: builder.start().await.unwrap(),
        version,
        deployment,
    }
}

/// One server of each version and deployment, for all tests of this binary.
async fn servers() -> &'static [Server] {
    static SERVERS: OnceCell<Vec<Server>> = OnceCell::const_new();
    SERVERS
        .get_or_init(|| async {
            let mut servers = Vec::new();
            for version in VERSIONS {
                for deployment in ["standalone", "replica set", "sharded", "load balanced"] {
                    servers.push(start(version, deployment).await);
                }
            }
            servers
        })
        .await
}

/// The code and message of a failed command, or of its first failed statement.
fn failure(reply: &Document) -> Option<(i32, String)> {
    let error = |document: &Document| {
        Some((
            document.get_i32("code").ok()?,
            document.get_str("errmsg").unwrap_or_default().to_owned(),
        ))
    };
    if reply.get_f64("ok").unwrap_or_default() != 1.0 {
        return error(reply).or(Some((-1, reply.to_string())));
    }
    let written = reply.get_array("writeErrors").or_else(|_| {
        reply
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"))
    });
    written.ok()?.iter().filter_map(Bson::as_document).find_map(error)
}

/// Whether the text is the message with something in the place of each `{}`.
fn has_message(text: &str, message: &str) -> bool {
    let mut rest = text;
    message.split("{}").all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// Runs the cases of a table on all servers. Every row must have a case.
pub(super) async fn check(subject: &str, cases: Vec<Case>) {
    let (_, rows) = refusals().iter().find(|(name, _)| *name == subject).unwrap();
    let tested: BTreeSet<&str> = cases.iter().map(|case| case.id).collect();
    let missing: Vec<&str> = rows
        .iter()
        .map(|row| row.id)
        .filter(|id| !tested.contains(id))
        .collect();
    assert!(missing.is_empty(), "rows without a case: {missing:?}");
    let mut failed = Vec::new();
    for server in servers().await {
        let address = match server.deployment {
            "replica set" => server.server.primary().unwrap(),
            _ => server.server.addresses()[0],
        };
        let mut client = Client::connect(address).await;
        for (index, case) in cases.iter().enumerate() {
            if server.version < case.since {
                continue;
            }
            let row = rows.iter().find(|row| row.id == case.id).unwrap();
            let db = format!("{}-{index}", row.id);
            if let Err(reason) = run(&mut client, server, row, case, &db).await {
                failed.push(format!(
                    "{} on {} {:?}: {reason}",
                    row.id, server.deployment, server.version
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

async fn run(
    client: &mut Client,
    server: &Server,
    row: &Refusal,
    case: &Case,
    db: &str,
) -> Result<(), String> {
    let refused = server.refuses(row);
    let addressed = |body: &Document| match (body.get_str("renameCollection"), body.get_str("to")) {
        _ if body.contains_key("$db") => body.clone(),
        (Ok(from), Ok(to)) => {
            let names = doc! { "renameCollection": format!("{db}.{from}"), "to": format!("{db}.{to}") };
            on("admin", names)
        }
        _ => on(db, body.clone()),
    };
    for command in &case.setup {
        let reply = client.run(addressed(command)).await;
        match failure(&reply) {
            Some(failure) if refused => return Err(format!("set-up {command} failed: {failure:?}")),
            Some(_) => return Ok(()),
            None => {}
        }
    }
    let reply = client.run(addressed(&case.request)).await;
    match (failure(&reply), &case.otherwise) {
        (Some((code, message)), _) if refused => {
            if code == row.code && has_message(&message, row.message) {
                Ok(())
            } else {
                Err(format!("{code} {message}"))
            }
        }
        (None, _) if refused => Err("accepted".to_owned()),
        (Some((code, message)), Otherwise::Accepts) => Err(format!("refused: {code} {message}")),
        (None, Otherwise::Refuses(_)) => Err("accepted by a server that lacks the feature".to_owned()),
        (Some((code, message)), Otherwise::Refuses(codes) | Otherwise::Either(codes)) => {
            if codes.contains(&code) {
                Ok(())
            } else {
                Err(format!("refused: {code} {message}"))
            }
        }
        (None, Otherwise::Accepts | Otherwise::Either(_)) => Ok(()),
    }
}

#[tokio::test]
async fn messages_match_with_values() {
    assert!(has_message("field 'a' is unknown", "field '{}' is unknown"));
    assert!(!has_message("field 'a' is known", "field '{}' is unknown"));
    let reply = doc! { "ok": 1.0, "writeErrors": [{ "index": 0, "code": 20, "errmsg": "no" }] };
    assert_eq!(failure(&reply), Some((20, "no".to_owned())));
    assert_eq!(failure(&doc! { "ok": 1.0 }), None);
}
