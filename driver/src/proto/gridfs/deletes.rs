//! Divides the files that are deleted by name into commands.

use crate::bson::Bson;

/// The maximum number of files that one command deletes.
const MAX_FILES: usize = 10_000;
/// The maximum size of the `_id`s in one command: half of the largest document that servers accept.
const MAX_BYTES: usize = 8 << 20;

/// Divides `_id`s, each with its size in bytes, into the `_id`s of each command. An `_id` larger than
/// the limit is alone.
pub fn delete_batches(ids: impl IntoIterator<Item = (Bson, usize)>) -> Vec<Vec<Bson>> {
    let mut batches: Vec<Vec<Bson>> = Vec::new();
    let mut bytes = 0;
    for (id, size) in ids {
        match batches.last_mut() {
            Some(batch) if batch.len() < MAX_FILES && bytes + size <= MAX_BYTES => {
                bytes += size;
                batch.push(id);
            }
            _ => {
                bytes = size;
                batches.push(vec![id]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let ids = sizes.into_iter().map(|size| (Bson::Null, size));
        delete_batches(ids).iter().map(Vec::len).collect()
    }

    #[test]
    fn a_command_has_at_most_10_000_ids_and_8_mib_of_them() {
        assert_eq!(lengths([]), [] as [usize; 0]);
        assert_eq!(lengths(std::iter::repeat_n(20, 25_000)), [10_000, 10_000, 5_000]);
        assert_eq!(lengths([4 << 20, 4 << 20, 1, 9 << 20, 1]), [2, 1, 1, 1]);
    }
}
