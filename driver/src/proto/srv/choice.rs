//! Random selection of hosts for `srvMaxHosts`.

/// Selects `count` items at random, each with the same probability: the first steps of a
/// Fisher–Yates shuffle. Returns all items in their order if there are no more than `count`.
/// `random` determines the selection.
pub fn choose<T>(mut items: Vec<T>, count: usize, random: u64) -> Vec<T> {
    if items.len() <= count {
        return items;
    }
    let mut state = random;
    for index in 0..count {
        let left = items.len() - index;
        let step = usize::try_from(next(&mut state) % left as u64).unwrap_or(0);
        items.swap(index, index + step);
    }
    items.truncate(count);
    items
}

/// The generator splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
