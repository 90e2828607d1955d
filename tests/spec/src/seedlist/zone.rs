//! The DNS records that the README of the specification's tests requires.

use marula_driver_tests::dns::DnsServer;

/// The domain of all names except those that violate a rule.
const DOMAIN: &str = "test.build.10gen.cc";
const HOST: &str = "localhost.test.build.10gen.cc";

/// `_mongodb._tcp.testN`, and the targets of its SRV records.
const SRV: [(&str, &[(&str, u16)]); 21] = [
    ("test1", &[(HOST, 27017), (HOST, 27018)]),
    ("test2", &[(HOST, 27018), (HOST, 27019)]),
    ("test3", &[(HOST, 27017)]),
    ("test5", &[(HOST, 27017)]),
    ("test6", &[(HOST, 27017)]),
    ("test7", &[(HOST, 27017)]),
    ("test8", &[(HOST, 27017)]),
    ("test9", &[(HOST, 27017)]),
    ("test10", &[(HOST, 27017)]),
    ("test11", &[(HOST, 27017)]),
    ("test12", &[("localhost.build.10gen.cc", 27017)]),
    ("test13", &[("test.build.10gen.cc", 27017)]),
    ("test14", &[("localhost.not-test.build.10gen.cc", 27017)]),
    ("test15", &[("localhost.test.not-build.10gen.cc", 27017)]),
    ("test16", &[("localhost.test.build.not-10gen.cc", 27017)]),
    ("test17", &[("localhost.test.build.10gen.not-cc", 27017)]),
    ("test18", &[("localhost.sub.test.build.10gen.cc", 27017)]),
    (
        "test19",
        &[("localhost.evil.build.10gen.cc", 27017), (HOST, 27017)],
    ),
    ("test20", &[(HOST, 27017)]),
    ("test21", &[(HOST, 27017)]),
    ("test23", &[(HOST, 8000)]),
];

/// `testN`, and the strings of its TXT records.
const TXT: [(&str, &[&[&str]]); 9] = [
    ("test5", &[&["replicaSet=repl0&authSource=thisDB"]]),
    ("test6", &[&["replicaSet=repl0"], &["authSource=otherDB"]]),
    ("test7", &[&["ssl=false"]]),
    ("test8", &[&["authSource"]]),
    ("test10", &[&["socketTimeoutMS=500"]]),
    ("test11", &[&["replicaS", "et=rep", "l0"]]),
    ("test20", &[&["loadBalanced=true"]]),
    ("test21", &[&["loadBalanced=false"]]),
    ("test24", &[&["loadBalanced=true"]]),
];

/// All host names that the driver may connect to.
pub(super) const HOSTS: [&str; 3] = [HOST, "localhost.sub.test.build.10gen.cc", "localhost"];

pub(super) fn fill(dns: &DnsServer) {
    for (name, hosts) in SRV {
        dns.set_srv(&format!("_mongodb._tcp.{name}.{DOMAIN}"), hosts);
    }
    dns.set_srv(
        &format!("_customname._tcp.test22.{DOMAIN}"),
        &[(HOST, 27017), (HOST, 27018)],
    );
    dns.set_srv(&format!("_mongodb._tcp.test24.{DOMAIN}"), &[(HOST, 8000)]);
    for (name, records) in TXT {
        dns.set_txt(&format!("{name}.{DOMAIN}"), records);
    }
}
