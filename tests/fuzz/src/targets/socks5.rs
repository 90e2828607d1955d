//! The fuzz target for the replies of a SOCKS5 proxy.

use marula_driver::internals::socks5::{Negotiation, Step};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "socks5",
    run,
    seeds,
};

/// The most bytes of one reply: an address of a type with a length of one byte, and a port.
const LONGEST: usize = 255 + 2;

fn run(bytes: &[u8]) {
    for host in ["db.example.com", "192.0.2.1", "2001:db8::1"] {
        let (mut negotiation, mut step) = Negotiation::begin(host, 27_017, None).expect("a host");
        let mut rest = bytes;
        while let Step::Exchange { read, .. } = step {
            assert!((1..=LONGEST).contains(&read), "{read} bytes");
            let Some((answer, after)) = rest.split_at_checked(read) else {
                break;
            };
            rest = after;
            match negotiation.handle(answer) {
                Ok(next) => step = next,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    break;
                }
            }
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        [&[5, 0][..], &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]].concat(),
        [&[5, 0][..], &[5, 0, 0, 4], &[0; 16], &[0, 80]].concat(),
        [&[5, 0][..], &[5, 0, 0, 3, 4], b"host", &[0, 80]].concat(),
        [&[5, 0][..], &[5, 2]].concat(),
        vec![5, 255],
    ]
}
