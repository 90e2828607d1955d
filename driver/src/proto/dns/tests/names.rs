//! Tests of CNAME and PTR records.

use super::*;

#[test]
fn names_of_aliases_and_addresses_are_read() {
    for (kind, number) in [(Kind::Cname, 5), (Kind::Ptr, 12)] {
        let query = query(kind);
        // A part, and a pointer to `example.com` in the question.
        let message = Message::to(&query, 0).record(&OWNER, number, 5, b"\x04Node\xc0\x22");
        let expected = Record::Name("Node.example.com".into());
        assert_eq!(query.read(&message.0), Some(Reply::Records(vec![expected])));
        let cut = Message::to(&query, 0).record(&OWNER, number, 5, b"\x04Node");
        assert_eq!(query.read(&cut.0), Some(Reply::Failure("its reply is malformed")));
        assert_eq!(
            query.read(&Message::to(&query, 3).0),
            Some(Reply::Nothing("NXDOMAIN"))
        );
    }
}

#[test]
fn a_query_for_aliases_follows_none() {
    let query = query(Kind::Cname);
    let message =
        Message::to(&query, 0)
            .record(&OWNER, 5, 5, b"\x01a\x00")
            .record(b"\x01a\x00", 5, 5, b"\x01b\x00");
    let expected = Reply::Records(vec![Record::Name("a".into())]);
    assert_eq!(query.read(&message.0), Some(expected));
}

#[test]
fn the_name_of_an_address_is_reversed() {
    for (address, expected) in [
        ("192.0.2.7", "7.2.0.192.in-addr.arpa"),
        ("::ffff:192.0.2.7", "7.2.0.192.in-addr.arpa"),
        (
            "2001:db8::567:89ab",
            "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
        ),
    ] {
        assert_eq!(reverse_name(address.parse().unwrap()), expected);
    }
}

proptest! {
    #[test]
    fn no_reply_breaks_the_reader_of_names(rest in vec(any::<u8>(), 0..600), is_alias: bool, answers in any::<u16>()) {
        let query = query(if is_alias { Kind::Cname } else { Kind::Ptr });
        let mut message = Message::to(&query, 0).0;
        message[6..8].copy_from_slice(&answers.to_be_bytes());
        message.extend_from_slice(&rest);
        prop_assert!(query.read(&message).is_some(), "id and question are ours");
    }
}
