//! Access control, and user management: users are created, listed, changed and dropped.

use crate::client::{Client, code, on, standalone};
use crate::scram;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use marula_test_server::TestServer;
use std::collections::HashMap;
use std::net::SocketAddr;

/// A server with authentication enabled, and an unauthenticated client.
async fn with_authentication(version: &str) -> (TestServer, Client) {
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
async fn commands_require_authentication() {
    let (server, mut client) = with_authentication("8.2.0").await;
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
async fn users_are_created_listed_changed_and_dropped() {
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
async fn hello_lists_mechanisms_and_supports_speculative_authentication() {
    let (_server, mut client) = with_authentication("8.2.0").await;
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
    let server_first = String::from_utf8(answer.get_binary_generic("payload").unwrap().clone()).unwrap();
    assert!(
        server_first.starts_with("r=abc") && server_first.ends_with(",i=15000"),
        "{server_first}"
    );
    assert!(!answer.get_bool("done").unwrap());
    let reply = ok(&mut client, "admin", start("absent")).await;
    assert!(!reply.contains_key("speculativeAuthenticate") && !reply.contains_key("saslSupportedMechs"));
    // A client-final message without a conversation, and one with an invalid proof.
    let proof = doc! {"saslContinue": 1, "conversationId": 1, "payload": payload("c=biws,r=abc,p=AAAA")};
    assert_eq!(code(&client.run(on("admin", proof.clone())).await), 17);
    let begin = doc! {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": first};
    let id = ok(&mut client, "admin", begin.clone())
        .await
        .get_i32("conversationId")
        .unwrap();
    let mut wrong = proof.clone();
    wrong.insert("conversationId", id);
    assert_eq!(code(&client.run(on("admin", wrong)).await), 18);
    assert_eq!(code(&client.run(on("admin", doc! {"find": "c"})).await), 13);
    let mut unknown = begin;
    unknown.insert("mechanism", "MONGODB-CR");
    assert_eq!(code(&client.run(on("admin", unknown)).await), 334);
    // Older servers ignore speculativeAuthenticate.
    let (_server, mut client) = with_authentication("4.2.0").await;
    let mut hello = start("root");
    hello.remove("hello");
    let mut legacy = doc! {"isMaster": 1};
    legacy.extend(hello);
    let reply = ok(&mut client, "admin", legacy).await;
    assert!(!reply.contains_key("speculativeAuthenticate"));
}

/// A client that is authenticated as a user of a database.
async fn authenticated(address: SocketAddr, db: &str, user: &str, password: &str) -> Client {
    let mut client = Client::connect(address).await;
    scram::authenticate(&mut client, db, user, password).await;
    client
}

#[tokio::test]
async fn roles_determine_the_authorized_commands() {
    let (server, _) = with_authentication("8.2.0").await;
    let address = server.addresses()[0];
    let mut root = authenticated(address, "admin", "root", "p@ss:word").await;
    ok(
        &mut root,
        "shop",
        doc! {"insert": "items", "documents": [{"_id": 1}]},
    )
    .await;
    ok(
        &mut root,
        "other",
        doc! {"insert": "things", "documents": [{"_id": 1}]},
    )
    .await;
    for (user, roles) in [
        ("reader", vec![Bson::from("read")]),
        ("writer", vec!["readWrite".into()]),
        ("owner", vec!["dbOwner".into()]),
        (
            "monitor",
            vec![doc! {"role": "clusterMonitor", "db": "admin"}.into()],
        ),
        ("none", Vec::new()),
    ] {
        let create = doc! {"createUser": user, "pwd": user, "roles": roles};
        ok(&mut root, "shop", create).await;
    }
    let find = || doc! {"find": "items"};
    let insert = || doc! {"insert": "items", "documents": [{"x": 1}]};
    let upsert =
        || doc! {"update": "items", "updates": [{"q": {"_id": 5}, "u": {"$set": {"x": 1}}, "upsert": true}]};
    let index = || doc! {"createIndexes": "items", "indexes": [{"key": {"x": 1}, "name": "x"}]};
    let out = || doc! {"aggregate": "items", "pipeline": [{"$out": "copy"}], "cursor": {}};
    let elsewhere =
        || doc! {"aggregate": "items", "pipeline": [{"$out": {"db": "other", "coll": "copy"}}], "cursor": {}};
    let explain = || doc! {"explain": {"delete": "items", "deletes": [{"q": {}, "limit": 1}]}};
    let bulk =
        || doc! {"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "shop.items"}]};
    let mut clients: HashMap<&str, Client> = HashMap::new();
    for (user, db, allowed, body) in [
        ("reader", "shop", true, find()),
        ("reader", "other", false, find()),
        ("reader", "shop", true, doc! {"count": "items"}),
        ("reader", "shop", true, doc! {"listCollections": 1}),
        ("reader", "shop", true, doc! {"dbStats": 1}),
        ("reader", "other", false, doc! {"dbStats": 1}),
        ("reader", "shop", false, insert()),
        ("reader", "shop", false, upsert()),
        ("reader", "shop", false, out()),
        ("reader", "shop", false, explain()),
        ("reader", "admin", false, bulk()),
        ("reader", "shop", false, doc! {"drop": "items"}),
        ("reader", "admin", false, doc! {"serverStatus": 1}),
        ("reader", "shop", true, doc! {"usersInfo": "reader"}),
        ("reader", "shop", false, doc! {"usersInfo": 1}),
        ("writer", "shop", true, insert()),
        ("writer", "shop", true, upsert()),
        ("writer", "shop", true, index()),
        ("writer", "shop", true, out()),
        ("writer", "shop", false, elsewhere()),
        ("writer", "shop", true, explain()),
        ("writer", "admin", true, bulk()),
        ("writer", "shop", false, doc! {"collMod": "items"}),
        ("writer", "shop", false, doc! {"reIndex": "items"}),
        ("owner", "shop", true, doc! {"reIndex": "items"}),
        (
            "reader",
            "shop",
            false,
            doc! {"convertToCapped": "items", "size": 4096},
        ),
        (
            "writer",
            "shop",
            false,
            doc! {"insert": "items", "documents": [{}], "bypassDocumentValidation": true},
        ),
        (
            "writer",
            "shop",
            false,
            doc! {"createUser": "u", "pwd": "p", "roles": []},
        ),
        ("owner", "shop", true, doc! {"collMod": "items"}),
        (
            "owner",
            "shop",
            true,
            doc! {"createUser": "u", "pwd": "p", "roles": ["read"]},
        ),
        (
            "owner",
            "shop",
            false,
            doc! {"createUser": "v", "pwd": "p", "roles": [{"role": "root", "db": "admin"}]},
        ),
        (
            "owner",
            "other",
            false,
            doc! {"createUser": "v", "pwd": "p", "roles": []},
        ),
        ("monitor", "admin", true, doc! {"serverStatus": 1}),
        ("monitor", "admin", true, doc! {"currentOp": 1}),
        ("monitor", "admin", false, doc! {"killOp": 1, "op": 1}),
        ("monitor", "shop", false, find()),
        ("none", "shop", false, find()),
        ("none", "admin", true, doc! {"ping": 1}),
        ("none", "admin", true, doc! {"currentOp": 1, "$ownOps": true}),
    ] {
        if !clients.contains_key(user) {
            clients.insert(user, authenticated(address, "shop", user, user).await);
        }
        let shown = body.to_string();
        let reply = clients.get_mut(user).unwrap().run(on(db, body)).await;
        assert_eq!(
            code(&reply),
            if allowed { 0 } else { 13 },
            "{user} on {db}: {shown}: {reply}"
        );
    }
    let mut reader = authenticated(address, "shop", "reader", "reader").await;
    let reply = reader.run(on("other", find())).await;
    assert_eq!(
        reply.get_str("errmsg").unwrap(),
        "not authorized on other to execute command { find: \"items\", $db: \"other\" }"
    );
    // Passwords are redacted.
    let reply = reader
        .run(on(
            "shop",
            doc! {"createUser": "u", "pwd": "hunter2", "roles": []},
        ))
        .await;
    assert!(!reply.to_string().contains("hunter2"), "{reply}");
    // Only the databases that the user is authorized for are listed.
    let names = |reply: &Document| -> Vec<String> {
        let databases = reply.get_array("databases").unwrap().iter();
        databases
            .map(|database| {
                database
                    .as_document()
                    .unwrap()
                    .get_str("name")
                    .unwrap()
                    .to_owned()
            })
            .collect()
    };
    let listed = ok(&mut reader, "admin", doc! {"listDatabases": 1}).await;
    assert_eq!(names(&listed), ["shop"]);
    let rejected = doc! {"listDatabases": 1, "authorizedDatabases": false};
    assert_eq!(code(&reader.run(on("admin", rejected)).await), 13);
    let listed = ok(&mut root, "admin", doc! {"listDatabases": 1}).await;
    assert_eq!(names(&listed), ["admin", "local", "other", "shop"]);
    // A dropped user has no privileges, even on open connections.
    ok(&mut root, "shop", doc! {"dropUser": "reader"}).await;
    assert_eq!(code(&reader.run(on("shop", find())).await), 13);
}

#[tokio::test]
async fn roles_are_granted_and_revoked() {
    let (_server, mut client) = standalone().await;
    let create = doc! {"createUser": "u", "pwd": "p", "roles": ["read"], "customData": {"a": 1}};
    ok(&mut client, "db", create).await;
    let roles = async |client: &mut Client| {
        let reply = ok(client, "db", doc! {"usersInfo": "u"}).await;
        let user = reply.get_array("users").unwrap()[0]
            .as_document()
            .unwrap()
            .clone();
        assert_eq!(user.get_document("customData").unwrap(), &doc! {"a": 1});
        user.get_array("roles").unwrap().clone()
    };
    let read = || Bson::from(doc! {"role": "read", "db": "db"});
    let root = || Bson::from(doc! {"role": "root", "db": "admin"});
    assert_eq!(roles(&mut client).await, [read()]);
    let grant = doc! {"grantRolesToUser": "u", "roles": ["read", {"role": "root", "db": "admin"}]};
    ok(&mut client, "db", grant).await;
    assert_eq!(roles(&mut client).await, [read(), root()]);
    ok(
        &mut client,
        "db",
        doc! {"revokeRolesFromUser": "u", "roles": ["read", "dbAdmin"]},
    )
    .await;
    assert_eq!(roles(&mut client).await, [root()]);
    let reply = ok(&mut client, "db", doc! {"rolesInfo": ["read", "nonsense"]}).await;
    let expected = doc! {"role": "read", "db": "db", "isBuiltin": true, "roles": [], "inheritedRoles": []};
    assert_eq!(reply.get_array("roles").unwrap(), &[Bson::from(expected)]);
    let reply = ok(
        &mut client,
        "admin",
        doc! {"rolesInfo": 1, "showBuiltinRoles": true},
    )
    .await;
    assert!(reply.get_array("roles").unwrap().len() > 10);
    for (expected, body) in [
        (31, doc! {"createUser": "v", "pwd": "p", "roles": ["nonsense"]}),
        (31, doc! {"createUser": "v", "pwd": "p", "roles": ["root"]}),
        (31, doc! {"updateUser": "u", "roles": ["nonsense"]}),
        (31, doc! {"grantRolesToUser": "u", "roles": ["nonsense"]}),
        (11, doc! {"grantRolesToUser": "v", "roles": ["read"]}),
        (238, doc! {"createRole": "r", "privileges": [], "roles": []}),
    ] {
        let shown = body.to_string();
        assert_eq!(code(&client.run(on("db", body)).await), expected, "{shown}");
    }
    ok(
        &mut client,
        "db",
        doc! {"createUser": "v", "pwd": "p", "roles": []},
    )
    .await;
    let reply = ok(&mut client, "db", doc! {"dropAllUsersFromDatabase": 1}).await;
    assert_eq!(reply.get_i32("n").unwrap(), 2);
}
