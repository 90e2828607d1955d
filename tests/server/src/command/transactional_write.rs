//! The fail point `onPrimaryTransactionalWrite`, which fails one of the storage transactions of a
//! retryable write. Each statement is one storage transaction, except that several inserts share
//! one.

use super::generic;
use crate::deployment::Deployment;
use crate::fail_point::TransactionalWrite;
use crate::member::Member;
use crate::value::document_size;
use bson::{Bson, Document};

/// The maximum number of inserts in a storage transaction, and the number of bytes that completes
/// one.
const MAX_GROUP_INSERTS: usize = 500;
const FULL_GROUP_BYTES: usize = 256 * 1024;

/// The effect of the fail point on a write.
pub(super) struct Failure {
    pub(super) point: TransactionalWrite,
    /// The command with only the statements to execute; `None` if there are none.
    pub(super) body: Option<Document>,
}

/// Counts the storage transactions of a retryable write until the fail point triggers; `None` if it
/// does not.
pub(super) fn plan(deployment: &Deployment, member: &Member, body: &Document) -> Option<Failure> {
    if !generic::is_retryable_write(body) || !member.fail_points.has_transactional_write() {
        return None;
    }
    let history = deployment
        .sessions
        .history(body, deployment.is_replicated())
        .ok()?;
    let list = ["documents", "updates", "deletes", "ops"]
        .into_iter()
        .find_map(|name| Some((name, body.get_array(name).ok()?)));
    let Some((name, statements)) = list else {
        if history.find(0).is_some() {
            return None;
        }
        let point = member.fail_points.on_transactional_write()?;
        let done = point.before_commit.is_none();
        return Some(Failure {
            point,
            body: done.then(|| body.clone()),
        });
    };
    let mut at = 0;
    while at < statements.len() {
        if history.find(at).is_some() {
            at += 1;
            continue;
        }
        let end = at + group_size(name, &statements[at..]);
        if let Some(point) = member.fail_points.on_transactional_write() {
            let done = match point.before_commit {
                Some(_) => at,
                None if point.close => end,
                None => statements.len(),
            };
            let cut = |done: usize| {
                let mut body = body.clone();
                body.insert(name, statements[..done].to_vec());
                body
            };
            return Some(Failure {
                point,
                body: (done > 0).then(|| cut(done)),
            });
        }
        at = end;
    }
    None
}

/// The number of statements, from the first on, that share a storage transaction.
fn group_size(list: &str, statements: &[Bson]) -> usize {
    let is_insert = |statement: &&Document| match list {
        "documents" => true,
        _ => statement
            .keys()
            .next()
            .is_some_and(|kind| list == "ops" && kind == "insert"),
    };
    let mut bytes = 0;
    for (index, statement) in statements.iter().enumerate() {
        let Some(document) = statement.as_document().filter(is_insert) else {
            return index.max(1);
        };
        bytes += document_size(document);
        if bytes >= FULL_GROUP_BYTES || index + 1 == MAX_GROUP_INSERTS {
            return index + 1;
        }
    }
    statements.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn inserts_share_a_storage_transaction() {
        let big = Bson::from(doc! { "text": "x".repeat(FULL_GROUP_BYTES) });
        let small = Bson::from(doc! { "a": 1 });
        assert_eq!(group_size("documents", &vec![small.clone(); 3]), 3);
        assert_eq!(group_size("documents", &vec![small.clone(); 600]), 500);
        assert_eq!(group_size("documents", &[small.clone(), big.clone(), small]), 2);
        assert_eq!(group_size("documents", &[big.clone(), big]), 1);
        let insert = Bson::from(doc! { "insert": 0, "document": {} });
        let delete = Bson::from(doc! { "delete": 0, "filter": {} });
        assert_eq!(group_size("ops", &[insert.clone(), insert, delete]), 2);
        let update = Bson::from(doc! { "q": {}, "u": { "$set": { "a": 1 } } });
        assert_eq!(group_size("updates", &[update.clone(), update]), 1);
    }
}
