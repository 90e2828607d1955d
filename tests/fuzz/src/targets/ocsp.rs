//! The fuzz target for the DER of certificates and of the responses of OCSP responders.

use std::sync::LazyLock;

use marula_driver::internals::untrusted::RevocationStatus;

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "ocsp",
    run,
    seeds,
};

const AUTHORITY: &[u8] = include_bytes!("../../../../driver/src/connection/tls/ocsp/samples/authority.der");
const LEAF: &[u8] = include_bytes!("../../../../driver/src/connection/tls/ocsp/samples/leaf.der");
const GOOD: &[u8] = include_bytes!("../../../../driver/src/connection/tls/ocsp/samples/good.der");
const BY_DELEGATE: &[u8] =
    include_bytes!("../../../../driver/src/connection/tls/ocsp/samples/good_by_delegate.der");
const REVOKED: &[u8] = include_bytes!("../../../../driver/src/connection/tls/ocsp/samples/revoked.der");
const UNKNOWN: &[u8] = include_bytes!("../../../../driver/src/connection/tls/ocsp/samples/unknown.der");

/// A time at which the samples are valid, in seconds since 1970.
const NOW: u64 = 1_795_276_461;

static STATUS: LazyLock<RevocationStatus> =
    LazyLock::new(|| RevocationStatus::new(LEAF, AUTHORITY, NOW).expect("a valid certificate"));

/// A response counts only if its signed part is that of a sample: only the authority has the key.
fn run(bytes: &[u8]) {
    RevocationStatus::reads(bytes);
    if STATUS.is_good(bytes) == Some(true) {
        // The times and the status of a response are within its signed part, which begins after the
        // headers of the nested sequences and ends before the signature.
        let is_signed = |sample: &&[u8]| {
            let signed = sample.get(40..sample.len() / 4).unwrap_or_default();
            bytes.windows(signed.len()).any(|window| window == signed)
        };
        assert!(
            [GOOD, BY_DELEGATE].iter().any(is_signed),
            "a forged response counts"
        );
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [GOOD, BY_DELEGATE, REVOKED, UNKNOWN, LEAF, AUTHORITY]
        .map(<[u8]>::to_vec)
        .to_vec()
}
