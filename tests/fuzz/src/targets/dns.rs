//! The fuzz target for DNS replies (RFC 1035, section 4).

use marula_driver::internals::dns::{Kind, MAX_MESSAGE, Name, Query, Record, Reply};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "dns",
    run,
    seeds,
};

/// Flags of a successful reply: response, recursion desired, recursion available.
const FLAGS: [u8; 2] = [0x81, 0x80];

/// Maximum length of a name in text form, in bytes: each byte can be escaped as `\DDD`.
const MAX_NAME_TEXT: usize = 4 * 255;

fn query(kind: Kind) -> Query {
    Query {
        id: 0x0102,
        name: Name::parse("_mongodb._tcp.a.example.com").expect("a name"),
        kind,
        extended: false,
    }
}

fn run(bytes: &[u8]) {
    let bytes = bytes.get(..MAX_MESSAGE).unwrap_or(bytes);
    for kind in [Kind::A, Kind::Aaaa, Kind::Srv, Kind::Txt] {
        let query = query(kind);
        check(query.read(bytes), bytes, kind);
        // With a valid header, which announces nine answers, and a valid question, so that more
        // inputs reach the records.
        let mut message = query.bytes();
        let end_of_question = message.len();
        message[2..4].copy_from_slice(&FLAGS);
        message[6..8].copy_from_slice(&[0, 9]);
        message.extend_from_slice(bytes.get(end_of_question..).unwrap_or(bytes));
        let reply = query.read(&message);
        assert!(reply.is_some(), "id and question are valid");
        check(reply, &message, kind);
    }
}

/// Checks the records of a reply against the limits of the message.
fn check(reply: Option<Reply>, message: &[u8], kind: Kind) {
    let Some(Reply::Records(records)) = reply else {
        return;
    };
    assert!(!records.is_empty(), "a reply without records");
    // The minimum size of a record: a name of one byte, and ten bytes before the data.
    assert!(
        records.len() <= message.len() / 11,
        "more records than the message can contain"
    );
    for record in records {
        match (kind, record) {
            (Kind::A, Record::Address(address)) => assert!(address.is_ipv4()),
            (Kind::Aaaa, Record::Address(address)) => assert!(address.is_ipv6()),
            (Kind::Srv, Record::Srv(record)) => {
                assert!(!record.target.is_empty() && record.target.len() <= MAX_NAME_TEXT);
                assert!(record.target.is_ascii());
            }
            (Kind::Txt, Record::Txt(strings)) => {
                let bytes: usize = strings.iter().map(|text| text.len() + 1).sum();
                assert!(bytes <= message.len(), "more text than the message contains");
            }
            (kind, record) => panic!("{record:?} is not of type {kind}"),
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let records: [(Kind, u16, &[u8]); 4] = [
        (Kind::A, 1, &[192, 0, 2, 1]),
        (
            Kind::Aaaa,
            28,
            &[0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ),
        (Kind::Srv, 33, b"\0\0\0\x05\x69\x89\x02db\xC0\x1A"),
        (Kind::Txt, 16, b"\x0EauthSource=adm\x02in"),
    ];
    // Each answer: the owner, the number of the record type, and the data.
    let reply = |kind: Kind, answers: &[(&[u8], u16, &[u8])]| {
        let mut message = query(kind).bytes();
        message[2..4].copy_from_slice(&FLAGS);
        message[7] = answers.len() as u8;
        for (owner, number, data) in answers {
            message.extend_from_slice(owner);
            message.extend_from_slice(&number.to_be_bytes());
            // Class IN, a TTL of 300 seconds, and the length of the data.
            message.extend_from_slice(&[0, 1, 0, 0, 1, 44, 0, data.len() as u8]);
            message.extend_from_slice(data);
        }
        message
    };
    // Pointers to offsets in the question: 12 is the whole name, 0x1A is `a.example.com`.
    let owner: &[u8] = &[0xC0, 12];
    let mut seeds = Vec::new();
    for (kind, number, data) in records {
        seeds.push(reply(kind, &[(owner, number, data), (owner, number, data)]));
        // A CNAME record, and the records of the name that it points to, in another case.
        let alias: (&[u8], u16, &[u8]) = (owner, 5, b"\x05alias\xC0\x1A");
        seeds.push(reply(kind, &[alias, (b"\x05ALIAS\xC0\x1A", number, data)]));
    }
    seeds
}
