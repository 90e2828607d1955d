//! Prose tests of the Server Discovery and Monitoring specification without a server.

use std::time::{Duration, Instant};

use marula_driver::{
    Client, ServerAddress,
    bson::{Document, RawDocumentBuf, doc, to_raw_document},
    event::{ServerDescription, ServerType, TopologyDescription},
    internals::{
        command::Reply,
        handshake::parse_hello,
        sdam::{self, ApplicationError, Phase},
    },
};

#[tokio::test]
async fn server_discovery_and_monitoring_prose_1_all_seeds_down() {
    // Nothing listens on port 1, and host names below .invalid do not exist.
    for uri in [
        "mongodb://127.0.0.1:1",
        "mongodb://unknown.invalid,127.0.0.1:1/?replicaSet=rs",
        "mongodb://127.0.0.1:1/?directConnection=true",
    ] {
        assert!(Client::connect(uri).await.is_ok(), "{uri}");
    }
}

/// Servers send a code with "not writable primary"; the texts without a code are those of the
/// specification.
#[test]
fn server_discovery_and_monitoring_prose_6_error_parsing() {
    for reply in [
        doc! { "ok": 0, "errmsg": "not writable primary", "code": 10107 },
        doc! { "code": 10107, "errmsg": "not writable primary", "ok": 0 },
        doc! { "ok": 0, "errmsg": "not master" },
        doc! { "errmsg": "not master or secondary", "ok": 0 },
        doc! { "ok": 0, "errmsg": "node is recovering" },
        doc! { "errmsg": "node is recovering", "ok": 0.0 },
    ] {
        let address: ServerAddress = "a:27017".parse().unwrap();
        let mut topology = TopologyDescription::initial([address.clone()], false, Some("rs".to_owned()));
        let hello = doc! { "ok": 1, "isWritablePrimary": true, "setName": "rs", "hosts": ["a:27017"],
        "minWireVersion": 0, "maxWireVersion": 25 };
        let hello = parse_hello(raw(&hello).as_bytes()).unwrap();
        let primary = ServerDescription::from_hello(address.clone(), hello, Duration::ZERO, Instant::now());
        sdam::apply(&mut topology, primary);
        assert_eq!(
            topology.server(&address).unwrap().server_type(),
            ServerType::RsPrimary
        );
        let bytes = raw(&reply);
        let error = Reply::scan(bytes.as_bytes()).unwrap().command_error().unwrap();
        let failure = ApplicationError {
            error: &error,
            phase: Phase::AfterHandshakeCompletes,
            generation: 0,
            pool_generation: 0,
            service_id: None,
        };
        let action = sdam::handle_application_error(&topology, &address, &failure);
        assert!(
            action.mark_unknown && action.check_now && !action.clear_pool,
            "{reply}: {action:?}"
        );
        let failed = ServerDescription::failed(address.clone(), &error, None, Instant::now());
        sdam::apply(&mut topology, failed);
        let server = topology.server(&address).unwrap();
        assert_eq!(server.server_type(), ServerType::Unknown, "{reply}");
        let message = reply.get_str("errmsg").unwrap();
        assert!(server.error().unwrap().contains(message), "{server}");
    }
}

fn raw(document: &Document) -> RawDocumentBuf {
    to_raw_document(document).expect("well-formed")
}
