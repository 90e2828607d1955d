//! Users: who is refused, and how they are made, listed, changed and dropped.

use crate::client::{Client, code, on, standalone};
use bson::spec::BinarySubtype;
use bson::{Binary, Document, doc};
use marula_test_server::TestServer;

/// A server that wants users, and a client that is none.
async fn guarded(version: &str) -> (TestServer, Client) {
    let builder = TestServer::builder()
        .version(version)
        .auth("root", "p@ss:word")
        .plain_user("ldap", "secret");
    let server = builder.start().await.unwrap();
    let client = Client::connect(server.addresses()[0]).await;
    (server, client)
}

fn payload(text: &str) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: text.as_bytes().to_vec(),
    }
}

fn plain(password: &str) -> Document {
    let text = format!("\0ldap\0{password}");
    on(
        "$external",
        doc! {"saslStart": 1, "mechanism": "PLAIN", "payload": payload(&text)},
    )
}

async fn ok(client: &mut Client, db: &str, body: Document) -> Document {
    let reply = client.run(on(db, body)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    reply
}

#[tokio::test]
async fn commands_need_a_user() {
    let (server, mut client) = guarded("8.2.0").await;
    assert!(
        server
            .uri()
            .starts_with("mongodb://root:p%40ss%3Aword@127.0.0.1:")
    );
    for body in [
        doc! {"find": "c"},
        doc! {"insert": "c", "documents": [{}]},
        doc! {"createUser": "u", "pwd": "p", "roles": []},
        doc! {"usersInfo": 1},
    ] {
        assert_eq!(code(&client.run(on("admin", body)).await), 13);
    }
    for body in [doc! {"ping": 1}, doc! {"hello": 1}, doc! {"buildInfo": 1}] {
        ok(&mut client, "admin", body).await;
    }
    assert_eq!(code(&client.run(plain("wrong")).await), 18);
    assert_eq!(code(&client.run(on("admin", doc! {"find": "c"})).await), 13);
    assert_eq!(code(&client.run(plain("secret")).await), 0);
    ok(&mut client, "admin", doc! {"find": "c"}).await;
    let status = ok(&mut client, "admin", doc! {"connectionStatus": 1}).await;
    let users = status.get_document("authInfo").unwrap();
    let users = users.get_array("authenticatedUsers").unwrap();
    assert_eq!(users, &vec![doc! {"user": "ldap", "db": "$external"}.into()]);
    ok(&mut client, "admin", doc! {"logout": 1}).await;
    assert_eq!(code(&client.run(on("admin", doc! {"find": "c"})).await), 13);
}

#[tokio::test]
async fn users_are_made_listed_changed_and_dropped() {
    let (_server, mut client) = standalone().await;
    let create = doc! {"createUser": "u", "pwd": "p", "roles": ["read"], "mechanisms": ["SCRAM-SHA-1"]};
    ok(&mut client, "db", create.clone()).await;
    assert_eq!(code(&client.run(on("db", create)).await), 51003);
    let listed = async |client: &mut Client, what: Document| {
        let reply = ok(client, "db", what).await;
        reply.get_array("users").unwrap().clone()
    };
    let users = listed(&mut client, doc! {"usersInfo": "u"}).await;
    let user = users[0].as_document().unwrap();
    assert_eq!(user.get_str("_id").unwrap(), "db.u");
    assert_eq!(user.get_array("mechanisms").unwrap(), &vec!["SCRAM-SHA-1".into()]);
    ok(
        &mut client,
        "db",
        doc! {"updateUser": "u", "pwd": "q", "roles": []},
    )
    .await;
    let users = listed(&mut client, doc! {"usersInfo": {"user": "u", "db": "db"}}).await;
    let user = users[0].as_document().unwrap();
    assert_eq!(user.get_array("mechanisms").unwrap().len(), 2);
    assert!(user.get_array("roles").unwrap().is_empty());
    assert_eq!(
        listed(&mut client, doc! {"usersInfo": {"forAllDBs": true}})
            .await
            .len(),
        1
    );
    assert!(listed(&mut client, doc! {"usersInfo": "v"}).await.is_empty());
    ok(&mut client, "db", doc! {"dropUser": "u"}).await;
    for (expected, body) in [
        (11, doc! {"dropUser": "u"}),
        (11, doc! {"updateUser": "u", "pwd": "q"}),
        (2, doc! {"createUser": "u", "roles": []}),
        (40414, doc! {"createUser": "u", "pwd": "p"}),
        (
            2,
            doc! {"createUser": "u", "pwd": "p", "roles": [], "mechanisms": ["X"]},
        ),
        (
            2,
            doc! {"createUser": "u", "pwd": "\u{7}", "roles": [], "mechanisms": ["SCRAM-SHA-256"]},
        ),
        (2, doc! {"createUser": "", "pwd": "p", "roles": []}),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
}

#[tokio::test]
async fn the_handshake_tells_of_mechanisms_and_takes_the_first_message() {
    let (_server, mut client) = guarded("8.2.0").await;
    let first = payload("n,,n=root,r=abc");
    let start = |user: &str| {
        let payload = payload(&format!("n,,n={user},r=abc"));
        doc! {
            "hello": 1, "saslSupportedMechs": format!("admin.{user}"),
            "speculativeAuthenticate": {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload, "db": "admin"},
        }
    };
    let reply = ok(&mut client, "admin", start("root")).await;
    assert_eq!(reply.get_array("saslSupportedMechs").unwrap().len(), 2);
    let answer = reply.get_document("speculativeAuthenticate").unwrap();
    let said = String::from_utf8(answer.get_binary_generic("payload").unwrap().clone()).unwrap();
    assert!(said.starts_with("r=abc") && said.ends_with(",i=15000"), "{said}");
    assert!(!answer.get_bool("done").unwrap());
    let reply = ok(&mut client, "admin", start("nobody")).await;
    assert!(!reply.contains_key("speculativeAuthenticate") && !reply.contains_key("saslSupportedMechs"));
    // A proof without a conversation, and a wrong one.
    let go_on = doc! {"saslContinue": 1, "conversationId": 1, "payload": payload("c=biws,r=abc,p=AAAA")};
    assert_eq!(code(&client.run(on("admin", go_on.clone())).await), 17);
    let begin = doc! {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": first};
    let id = ok(&mut client, "admin", begin.clone())
        .await
        .get_i32("conversationId")
        .unwrap();
    let mut wrong = go_on.clone();
    wrong.insert("conversationId", id);
    assert_eq!(code(&client.run(on("admin", wrong)).await), 18);
    assert_eq!(code(&client.run(on("admin", doc! {"find": "c"})).await), 13);
    let mut unknown = begin;
    unknown.insert("mechanism", "MONGODB-CR");
    assert_eq!(code(&client.run(on("admin", unknown)).await), 334);
    // Older servers do not speculate.
    let (_server, mut client) = guarded("4.2.0").await;
    let mut hello = start("root");
    hello.remove("hello");
    let mut legacy = doc! {"isMaster": 1};
    legacy.extend(hello);
    let reply = ok(&mut client, "admin", legacy).await;
    assert!(!reply.contains_key("speculativeAuthenticate"));
}
