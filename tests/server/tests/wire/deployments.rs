//! Sharded clusters, load balancers, host names, versions and parameters.

use crate::client::{Client, code, on};
use bson::{Document, doc};
use marula_test_server::TestServer;
use std::net::SocketAddr;

fn host(uri: &str) -> SocketAddr {
    let rest = uri.strip_prefix("mongodb://").unwrap();
    rest[..rest.find('/').unwrap()].parse().unwrap()
}

async fn hello(client: &mut Client, load_balanced: bool) -> Document {
    let mut body = doc! {"hello": 1};
    if load_balanced {
        body.insert("loadBalanced", true);
    }
    client.run(on("admin", body)).await
}

#[tokio::test]
async fn both_mongos_serve_the_same_data() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let addresses = server.addresses();
    assert_eq!(addresses.len(), 2);
    assert_eq!(
        server.uri(),
        format!("mongodb://{},{}/", addresses[0], addresses[1])
    );
    assert_eq!(server.single_uri(), format!("mongodb://{}/", addresses[0]));
    assert_eq!(server.member_uris().len(), 2);
    let mut first = Client::connect(addresses[0]).await;
    let mut second = Client::connect(addresses[1]).await;
    for client in [&mut first, &mut second] {
        let reply = hello(client, false).await;
        assert_eq!(reply.get_str("msg").unwrap(), "isdbgrid");
        assert!(reply.get_bool("isWritablePrimary").unwrap());
        assert!(!reply.contains_key("setName") && !reply.contains_key("serviceId"));
        assert!(reply.contains_key("$clusterTime") && reply.contains_key("operationTime"));
    }
    first
        .run(on("db", doc! {"insert": "c", "documents": [{"_id": 1}]}))
        .await;
    let found = second.run(on("db", doc! {"count": "c"})).await;
    assert_eq!(found.get_i32("n").unwrap(), 1);
    // Fail points are set per process.
    let point = doc! {"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": {"failCommands": ["count"], "errorCode": 8}};
    first.run(on("admin", point)).await;
    assert_eq!(code(&first.run(on("db", doc! {"count": "c"})).await), 8);
    assert_eq!(code(&second.run(on("db", doc! {"count": "c"})).await), 0);
    for refused in ["replSetStepDown", "replSetGetConfig", "replSetFreeze"] {
        assert_eq!(
            code(&second.run(on("admin", doc! {refused: 1})).await),
            59,
            "{refused}"
        );
    }
    let sharded = second
        .run(on("admin", doc! {"shardCollection": "db.c", "key": {"_id": 1}}))
        .await;
    assert_eq!(sharded.get_f64("ok").unwrap(), 1.0);
    server.stop_member(0).await;
    assert_eq!(server.primary(), Some(addresses[1]));
    assert_eq!(
        code(
            &second
                .run(on("db", doc! {"insert": "c", "documents": [{}]}))
                .await
        ),
        0
    );
}

#[tokio::test]
async fn load_balanced_connections_have_a_service_id() {
    let server = TestServer::builder().load_balanced().start().await.unwrap();
    assert!(server.uri().ends_with("/?loadBalanced=true"));
    let mut services = Vec::new();
    for _ in 0..4 {
        let mut client = Client::connect(host(&server.uri())).await;
        let reply = hello(&mut client, true).await;
        let service = reply.get_object_id("serviceId").unwrap();
        let version = reply.get_document("topologyVersion").unwrap();
        assert_eq!(version.get_object_id("processId").unwrap(), service);
        services.push(service);
    }
    assert_ne!(services[0], services[1]);
    assert_eq!(
        services[..2],
        services[2..],
        "connections alternate between the services"
    );
    for _ in 0..2 {
        let mut client = Client::connect(host(&server.single_uri())).await;
        let reply = hello(&mut client, true).await;
        assert_eq!(reply.get_object_id("serviceId").unwrap(), services[0]);
    }
    // A client without `loadBalanced` is rejected.
    let mut without_option = Client::connect(host(&server.uri())).await;
    assert_eq!(code(&hello(&mut without_option, false).await), 354);
    // A direct connection to a mongos has no service ID.
    let mut direct = Client::connect(server.addresses()[0]).await;
    let reply = hello(&mut direct, true).await;
    assert_eq!(code(&reply), 0);
    assert!(!reply.contains_key("serviceId"));
}

#[tokio::test]
async fn the_load_balancer_skips_stopped_mongos() {
    let server = TestServer::builder().load_balanced().start().await.unwrap();
    server.stop_member(0).await;
    for _ in 0..3 {
        let mut client = Client::connect(host(&server.uri())).await;
        assert_eq!(code(&hello(&mut client, true).await), 0);
    }
    let mut client = Client::connect(host(&server.single_uri())).await;
    client
        .send(0, &on("admin", doc! {"hello": 1, "loadBalanced": true}))
        .await;
    assert!(client.receive().await.is_none());
}

#[tokio::test]
async fn replica_sets_advertise_the_configured_host_names() {
    let names = ["one.test:27017", "two.test:27018", "three.test:27019"];
    let server = TestServer::builder()
        .replica_set()
        .replica_set_name("repl0")
        .advertised_hosts(names)
        .start()
        .await
        .unwrap();
    assert!(server.uri().ends_with("/?replicaSet=repl0"));
    for (address, name) in server.addresses().into_iter().zip(names) {
        let mut client = Client::connect(address).await;
        let reply = hello(&mut client, false).await;
        assert_eq!(reply.get_str("setName").unwrap(), "repl0");
        assert_eq!(reply.get_str("me").unwrap(), name);
        assert_eq!(reply.get_str("primary").unwrap(), names[0]);
        assert_eq!(reply.get_array("hosts").unwrap().len(), 3);
    }
    for uri in server.member_uris() {
        assert!(uri.ends_with("/?directConnection=true"));
    }
}

#[tokio::test]
async fn errors_of_starting_name_the_address_and_the_member() {
    let server = TestServer::builder().replica_set().start().await.unwrap();
    let port = server.addresses()[0].port();
    let error = TestServer::builder().port(port).start().await.unwrap_err();
    assert!(
        error.to_string().contains(&format!("127.0.0.1:{port}")),
        "{error}"
    );
    let error = server.restart_member(7).await.unwrap_err();
    assert_eq!(error.to_string(), "member 7 does not exist: the deployment has 3");
    let error = server.restart_member(1).await.unwrap_err();
    assert_eq!(error.to_string(), "member 1 is running");
}

#[cfg(unix)]
#[tokio::test]
async fn an_error_of_a_unix_domain_socket_contains_its_path() {
    let path = std::env::temp_dir().join("no-such-directory/marula.sock");
    let error = TestServer::builder()
        .unix_socket(&path)
        .start()
        .await
        .unwrap_err();
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}

#[tokio::test]
async fn versions_determine_wire_versions_and_commands() {
    for (version, wire, bulk_write) in [
        ("4.2", 8, 59),
        ("4.4", 9, 59),
        ("7.0", 21, 59),
        ("8.1", 26, 40414),
        ("8.2.1", 27, 40414),
    ] {
        let server = TestServer::builder().version(version).start().await.unwrap();
        let mut client = Client::connect(server.addresses()[0]).await;
        let reply = hello(&mut client, false).await;
        assert_eq!(reply.get_i32("maxWireVersion").unwrap(), wire, "{version}");
        let build = client.run(on("admin", doc! {"buildInfo": 1})).await;
        let shown = build.get_str("version").unwrap();
        assert!(shown.starts_with(version), "{shown}");
        let reply = client.run(on("admin", doc! {"bulkWrite": 1})).await;
        assert_eq!(code(&reply), bulk_write, "{version}");
    }
}

#[tokio::test]
async fn set_parameter_changes_behavior() {
    let server = TestServer::builder()
        .parameter("requireApiVersion", true)
        .start()
        .await
        .unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    assert_eq!(code(&client.run(on("db", doc! {"ping": 1})).await), 498_870);
    assert_eq!(
        code(&client.run(on("db", doc! {"ping": 1, "apiVersion": "1"})).await),
        0
    );
    let off = client
        .run(on(
            "admin",
            doc! {"setParameter": 1, "requireApiVersion": false, "apiVersion": "1"},
        ))
        .await;
    assert!(off.get_bool("was").unwrap());
    let all = client.run(on("admin", doc! {"getParameter": "*"})).await;
    assert!(!all.get_bool("requireApiVersion").unwrap());
    assert!(all.get_bool("enableTestCommands").unwrap());
    assert!(all.contains_key("authenticationMechanisms") && all.contains_key("featureCompatibilityVersion"));
    let fixed = client
        .run(on("admin", doc! {"setParameter": 1, "enableTestCommands": false}))
        .await;
    assert_eq!(code(&fixed), 20);
    let wrong = client
        .run(on("admin", doc! {"setParameter": 1, "quiet": "yes"}))
        .await;
    assert_eq!(code(&wrong), 14);
}
