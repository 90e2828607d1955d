//! Tests of the questions, the replies and the order of the servers.

#[cfg(feature = "gssapi")]
mod names;

use core::net::{IpAddr, SocketAddr};
use std::time::Duration;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::proto::srv::SrvRecord;

const NAME: &str = "_mongodb._tcp.Cluster.example.com";

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn query(kind: Kind) -> Query {
    Query {
        id: 0x1234,
        name: name(NAME),
        kind,
        extended: true,
    }
}

/// A reply to a query, from a recursive server.
struct Message(Vec<u8>);

impl Message {
    fn to(query: &Query, code: u8) -> Self {
        let plain = Query {
            extended: false,
            ..query.clone()
        };
        let mut bytes = plain.bytes();
        bytes[2..4].copy_from_slice(&[0x81, 0x80 | code]);
        Self(bytes)
    }

    /// One more record, whose owner is given as it stands in the message.
    fn record(mut self, owner: &[u8], kind: u16, ttl: u32, data: &[u8]) -> Self {
        self.0[7] += 1;
        self.0.extend_from_slice(owner);
        self.0.extend_from_slice(&kind.to_be_bytes());
        self.0.extend_from_slice(&[0, 1]);
        self.0.extend_from_slice(&ttl.to_be_bytes());
        self.0
            .extend_from_slice(&u16::try_from(data.len()).unwrap().to_be_bytes());
        self.0.extend_from_slice(data);
        self
    }

    fn with(mut self, at: usize, byte: u8) -> Self {
        self.0[at] = byte;
        self
    }
}

/// The question's name.
const OWNER: [u8; 2] = [0xC0, 12];

fn srv(port: u16, target: &[u8]) -> Vec<u8> {
    let mut data = vec![0, 1, 0, 2];
    data.extend_from_slice(&port.to_be_bytes());
    data.extend_from_slice(target);
    data
}

fn srv_record(target: &str, port: u16, ttl: u64) -> Record {
    Record::Srv(SrvRecord {
        target: target.into(),
        port,
        ttl: Duration::from_secs(ttl),
    })
}

#[test]
fn names_are_those_of_dns() {
    for (text, shown) in [
        ("a.b", "a.b"),
        ("a.b.", "a.b"),
        ("_x._tcp.mongo_1", "_x._tcp.mongo_1"),
    ] {
        assert_eq!(name(text).to_string(), shown);
    }
    let long = [63, 63, 63, 61].map(|length| "x".repeat(length)).join(".");
    assert_eq!(name(&long).to_string(), long);
    for text in [
        "",
        ".",
        "a..b",
        ".a",
        "a b",
        "münchen",
        &"x".repeat(64),
        &format!("{long}x"),
    ] {
        assert!(Name::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_query_is_one_question_that_announces_edns() {
    let short = Query {
        name: name("a.bc"),
        ..query(Kind::Txt)
    };
    let question = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01a\x02bc\x00\x00\x10\x00\x01";
    let announcement = b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";
    assert_eq!(short.bytes(), [&question[..], announcement].concat());
    let plain = Query {
        extended: false,
        ..short
    };
    assert_eq!(plain.bytes()[11], 0);
    assert_eq!(plain.bytes().len(), question.len());
}

#[test]
fn records_are_read_and_their_times_kept() {
    let query = query(Kind::Srv);
    // The second target is a part and a pointer to `Cluster.example.com` in the question.
    let message = Message::to(&query, 0)
        .record(&OWNER, 33, 60, &srv(27017, b"\x01a\x01b\x00"))
        .record(&OWNER, 33, 0x8000_0000, &srv(1, b"\x02db\xc0\x1a"))
        .record(&OWNER, 16, 5, b"\x03txt")
        .record(b"\x05other\x00", 33, 5, &srv(2, b"\x00"));
    let expected = vec![
        srv_record("a.b", 27017, 60),
        srv_record("db.Cluster.example.com", 1, 0),
    ];
    assert_eq!(query.read(&message.0), Some(Reply::Records(expected)));

    let none_offered = Message::to(&query, 0).record(&OWNER, 33, 5, &srv(0, b"\x00"));
    assert_eq!(
        query.read(&none_offered.0),
        Some(Reply::Records(vec![srv_record(".", 0, 5)]))
    );
    let odd = Message::to(&query, 0).record(&OWNER, 33, 5, &srv(1, b"\x04a.\\\xff\x00"));
    assert_eq!(
        query.read(&odd.0),
        Some(Reply::Records(vec![srv_record("a\\.\\\\\\255", 1, 5)]))
    );
}

#[test]
fn texts_and_addresses_are_read() {
    let txt = query(Kind::Txt);
    let message = Message::to(&txt, 0)
        .record(&OWNER, 16, 5, b"\x03abc\x00\x01d")
        .record(&OWNER, 16, 5, b"");
    let first = vec![b"abc".to_vec(), Vec::new(), b"d".to_vec()];
    let expected = vec![Record::Txt(first), Record::Txt(Vec::new())];
    assert_eq!(txt.read(&message.0), Some(Reply::Records(expected)));

    for (kind, number, address) in [
        (Kind::A, 1, "192.0.2.1".parse::<IpAddr>().unwrap()),
        (Kind::Aaaa, 28, "2001:db8::1".parse().unwrap()),
    ] {
        let data = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let query = query(kind);
        let message = Message::to(&query, 0).record(&OWNER, number, 5, &data);
        let expected = Reply::Records(vec![Record::Address(address)]);
        assert_eq!(query.read(&message.0), Some(expected));
        let cut = Message::to(&query, 0).record(&OWNER, number, 5, &data[1..]);
        assert_eq!(query.read(&cut.0), Some(Reply::Failure("its reply is malformed")));
    }
}

#[test]
fn aliases_are_followed_in_any_order() {
    let query = query(Kind::Srv);
    let target = srv(1, b"\x01h\x00");
    let message = Message::to(&query, 0)
        .record(b"\x01C\x00", 33, 300, &target)
        .record(b"\x01b\x00", 5, 20, b"\x01c\x00")
        .record(&OWNER, 5, 100, b"\x01B\x00");
    let expected = Reply::Records(vec![srv_record("h", 1, 20)]);
    assert_eq!(query.read(&message.0), Some(expected));

    let dangling = Message::to(&query, 0).record(&OWNER, 5, 100, b"\x01b\x00");
    assert_eq!(query.read(&dangling.0), Some(Reply::Nothing("NOERROR")));
    let circle = dangling.record(b"\x01b\x00", 5, 100, b"\x01b\x00");
    assert!(matches!(query.read(&circle.0), Some(Reply::Failure(why)) if why.contains("aliases")));
}

#[test]
fn replies_to_something_else_are_nobodys() {
    let query = query(Kind::Srv);
    let good = || Message::to(&query, 0).record(&OWNER, 33, 60, &srv(1, b"\x01a\x00"));
    assert!(matches!(query.read(&good().0), Some(Reply::Records(_))));
    let in_capitals = good().0.to_ascii_uppercase();
    assert!(query.read(&in_capitals).is_some(), "case does not matter");
    let question_end = query.bytes().len() - 11;
    for (at, byte, what) in [
        (0, 0x13, "id"),
        (2, 0x01, "a query"),
        (2, 0x91, "an inverse query"),
        (5, 0, "no question"),
        (5, 2, "two questions"),
        (14, b'x', "another name"),
        (12, 9, "another length"),
        (question_end - 3, 16, "another type"),
        (question_end - 1, 3, "another class"),
    ] {
        assert_eq!(query.read(&good().with(at, byte).0), None, "{what}");
    }
    for length in 0..question_end {
        assert_eq!(query.read(&good().0[..length]), None, "cut to {length}");
    }
    for length in question_end..good().0.len() {
        let cut = query.read(&good().0[..length]);
        assert_eq!(
            cut,
            Some(Reply::Failure("its reply is malformed")),
            "cut to {length}"
        );
    }
}

#[test]
fn codes_say_whether_to_ask_on() {
    let query = query(Kind::Srv);
    let with_code = |code| query.read(&Message::to(&query, code).0);
    assert_eq!(with_code(0), Some(Reply::Nothing("NOERROR")));
    assert_eq!(with_code(1), Some(Reply::NotUnderstood("FORMERR")));
    assert_eq!(with_code(2), Some(Reply::Failure("SERVFAIL")));
    assert_eq!(with_code(3), Some(Reply::Nothing("NXDOMAIN")));
    assert_eq!(with_code(4), Some(Reply::NotUnderstood("NOTIMP")));
    assert_eq!(with_code(5), Some(Reply::Failure("REFUSED")));
    assert!(matches!(with_code(9), Some(Reply::Failure(_))));
    let header_alone = |code: u8| query.read(&[0x12, 0x34, 0x81, 0x80 | code, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(header_alone(1), Some(Reply::NotUnderstood("FORMERR")));
    assert_eq!(header_alone(0), None, "an answer needs its question");
    assert_eq!(header_alone(3), None, "and so does an absence");
    let truncated = Message::to(&query, 0).with(2, 0x83);
    assert_eq!(query.read(&truncated.0), Some(Reply::Truncated));
    let referral = Message::to(&query, 0).with(3, 0);
    assert!(matches!(query.read(&referral.0), Some(Reply::Failure(why)) if why.contains("refers")));
    let authority = Message::to(&query, 0).with(2, 0x85).with(3, 0);
    assert_eq!(query.read(&authority.0), Some(Reply::Nothing("NOERROR")));
}

#[test]
fn pointers_lead_backwards_and_names_end() {
    let query = query(Kind::Srv);
    let malformed = Some(Reply::Failure("its reply is malformed"));
    let begin = u8::try_from(Message::to(&query, 0).0.len()).unwrap();
    // The owner, then ten bytes until the data, of which six come before the target.
    let target = begin + 18;
    for (what, data) in [
        ("to itself", vec![0xC0, target]),
        ("forwards", vec![0xC0, target + 2, 0]),
        ("behind the message", vec![0xFF, 0xFF]),
        ("a circle", vec![1, b'a', 0xC0, target]),
        ("half a pointer", vec![0xC0]),
        ("no end", vec![1, b'a']),
        ("behind the data", vec![60, b'a']),
        ("not all of the data", vec![1, b'a', 0, 0]),
        ("an unknown kind of label", vec![0x41, 0]),
        ("too long", [[63; 64].as_slice(); 4].concat()),
    ] {
        let message = Message::to(&query, 0).record(&OWNER, 33, 5, &srv(1, &data));
        assert_eq!(query.read(&message.0), malformed, "{what}");
    }
    // Pointers to pointers: each leads backwards, and there are very many.
    let mut steps = vec![0];
    let at = usize::from(begin) + 11;
    for step in 0_u16..500 {
        let to = match step {
            0 => u16::try_from(at).unwrap(),
            _ => u16::try_from(at).unwrap() + 1 + 2 * (step - 1),
        };
        steps.extend_from_slice(&(0xC000 | to).to_be_bytes());
    }
    let last = u16::try_from(at + steps.len() - 2).unwrap() | 0xC000;
    let message = Message::to(&query, 0).record(b"\x00", 0xFFFF, 5, &steps).record(
        &last.to_be_bytes(),
        33,
        5,
        &srv(1, b"\x01a\x00"),
    );
    assert_eq!(query.read(&message.0), malformed);
}

fn servers(count: u8) -> NameServers {
    NameServers {
        addresses: (1..=count).map(address).collect(),
        timeout: Duration::from_secs(3),
        attempts: 2,
        rotate: false,
        tcp_only: false,
    }
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 53))
}

fn lookup(servers: NameServers, random: u16) -> Lookup {
    Lookup::new(name(NAME), Kind::Srv, servers, random)
}

const SILENCE: ServerFailure = ServerFailure::Timeout(Duration::from_secs(5));

/// The last octet of the address of the next server. `None`: the lookup waits.
fn next(lookup: &mut Lookup) -> Option<u8> {
    match lookup.next_step() {
        Step::Begin(conversation) => match conversation.server().ip() {
            IpAddr::V4(address) => Some(address.octets()[3]),
            IpAddr::V6(address) => panic!("{address}"),
        },
        Step::Wait => None,
        Step::GiveUp(failure) => panic!("{failure}"),
    }
}

fn failure(step: Step) -> String {
    match step {
        Step::GiveUp(failure) => failure.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_that_fail_are_queried_in_turn() {
    let mut lookup = lookup(servers(2), 9);
    for (server, reason) in [(1, "FORMERR"), (2, "SERVFAIL"), (1, "REFUSED"), (2, "malformed")] {
        assert_eq!(next(&mut lookup), Some(server));
        lookup.failed(address(server), ServerFailure::Reply(reason));
    }
    assert_eq!(
        failure(lookup.next_step()),
        "192.0.2.1:53: REFUSED; 192.0.2.2:53: malformed"
    );
    let without_servers = self::lookup(servers(0), 5).next_step();
    assert_eq!(failure(without_servers), "no name server is configured");
    let once = NameServers {
        attempts: 0,
        ..servers(1)
    };
    assert_eq!(next(&mut self::lookup(once, 0)), Some(1), "never less than once");
}

#[test]
fn the_next_server_is_queried_beside_one_that_does_not_answer() {
    let mut lookup = lookup(servers(2), 0);
    assert_eq!(next(&mut lookup), Some(1));
    assert!(lookup.is_patient());
    assert_eq!(next(&mut lookup), Some(2), "patience is at its end");
    // No second query is sent to the first one while one is outstanding.
    assert!(!lookup.is_patient());
    assert_eq!(next(&mut lookup), None);
    lookup.failed(address(2), ServerFailure::Reply("SERVFAIL"));
    assert_eq!(next(&mut lookup), None, "it is the first one's turn");
    lookup.failed(address(1), SILENCE);
    assert_eq!(next(&mut lookup), Some(1));
    assert_eq!(next(&mut lookup), Some(2));
    lookup.failed(address(1), SILENCE);
    assert_eq!(next(&mut lookup), None, "the last one may still answer");
    lookup.failed(address(2), SILENCE);
    assert!(matches!(lookup.next_step(), Step::GiveUp(_)));
}

#[test]
fn servers_take_turns_where_they_are_to() {
    let rotating = |random| {
        let rotate = NameServers {
            rotate: true,
            ..servers(3)
        };
        let mut lookup = lookup(rotate, random);
        (next(&mut lookup), next(&mut lookup))
    };
    let expected = [(1, 2), (2, 3), (3, 1)].map(|(first, second)| (Some(first), Some(second)));
    assert_eq!([rotating(0), rotating(1), rotating(5)], expected);
}

/// The transport of the next query, and whether it uses EDNS.
fn manner(conversation: &Conversation) -> (Transport, bool) {
    let exchange = conversation.exchange(7);
    assert_eq!(
        (exchange.server, exchange.timeout),
        (address(1), Duration::from_secs(3))
    );
    assert_eq!((exchange.query.id, exchange.query.kind), (7, Kind::Srv));
    (exchange.transport, exchange.query.extended)
}

fn conversation(tcp_only: bool) -> Conversation {
    let servers = NameServers {
        tcp_only,
        ..servers(1)
    };
    match lookup(servers, 0).next_step() {
        Step::Begin(conversation) => conversation,
        step => panic!("{step:?}"),
    }
}

#[test]
fn answers_and_failures_end_a_conversation() {
    let records = vec![srv_record("a", 1, 2)];
    let end = |reply| conversation(false).handle(reply);
    assert_eq!(
        end(Ok(Reply::Records(records.clone()))),
        Some(Ok(Answer::Records(records)))
    );
    assert_eq!(
        end(Ok(Reply::Nothing("NXDOMAIN"))),
        Some(Ok(Answer::NoRecords("NXDOMAIN")))
    );
    assert_eq!(
        end(Ok(Reply::Failure("REFUSED"))),
        Some(Err(ServerFailure::Reply("REFUSED")))
    );
    assert_eq!(end(Err(SILENCE)), Some(Err(SILENCE)));
    assert_eq!(SILENCE.to_string(), "no answer within 5s");
}

#[test]
fn what_is_too_long_or_not_understood_is_asked_otherwise() {
    use Transport::{Tcp, Udp};

    let mut talk = conversation(false);
    assert_eq!(manner(&talk), (Udp, true));
    assert_eq!(talk.handle(Ok(Reply::NotUnderstood("FORMERR"))), None);
    assert_eq!(manner(&talk), (Udp, false));
    assert_eq!(talk.handle(Ok(Reply::Truncated)), None);
    assert_eq!(manner(&talk), (Tcp, false));
    assert!(matches!(talk.clone().handle(Ok(Reply::Truncated)), Some(Err(_))));
    let end = talk.handle(Ok(Reply::NotUnderstood("NOTIMP")));
    assert_eq!(end, Some(Err(ServerFailure::Reply("NOTIMP"))));
    assert_eq!(manner(&conversation(true)), (Tcp, true));
}

proptest! {
    #[test]
    fn no_reply_breaks_the_reader(rest in vec(any::<u8>(), 0..600), kind in 0..4_usize, code in 0..16_u8, answers in any::<u16>()) {
        let query = query([Kind::A, Kind::Aaaa, Kind::Srv, Kind::Txt][kind]);
        let mut message = Message::to(&query, code).0;
        message[6..8].copy_from_slice(&answers.to_be_bytes());
        message.extend_from_slice(&rest);
        prop_assert!(query.read(&message).is_some(), "id and question are ours");
        let _ = query.read(&rest);
    }

    #[test]
    fn what_was_written_is_read(ports in vec(any::<u16>(), 1..100), ttl in 0..=i32::MAX.cast_unsigned(), text in "[a-z_-]{1,63}(\\.[a-z0-9-]{1,20}){0,6}") {
        let query = query(Kind::Srv);
        let target = name(&text);
        let mut message = Message::to(&query, 0);
        for port in &ports {
            message = message.record(&OWNER, 33, ttl, &srv(*port, target.bytes()));
        }
        let expected = ports.iter().map(|port| srv_record(&text, *port, ttl.into())).collect();
        prop_assert_eq!(query.read(&message.0), Some(Reply::Records(expected)));
    }
}
