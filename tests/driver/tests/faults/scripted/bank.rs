//! Accounts, and transfers between them: what the tasks know of their transfers, compared with the
//! stored documents.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use marula_driver::{
    Client, ClientSession, Collection, Result,
    bson::{Document, doc},
};

pub(super) const ACCOUNTS: i32 = 64;
/// The amount of each account at the beginning.
const AMOUNT: i32 = 100;
/// Smaller than the number of accounts, so that reading all of them takes several batches.
const BATCH: u32 = 20;

/// A transfer of an amount from one account to another.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    /// Not used by another transfer.
    pub(super) id: String,
    pub(super) from: i32,
    pub(super) to: i32,
    pub(super) amount: i32,
}

/// The accounts and the executed transfers.
#[derive(Clone, Debug)]
pub(super) struct Bank {
    accounts: Collection<Document>,
    transfers: Collection<Document>,
    /// The id of the session that was used last.
    session: Arc<Mutex<Option<Document>>>,
}

/// What a task knows of its transfers, by their ids.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The commit was acknowledged.
    pub(super) committed: Vec<String>,
    /// The transaction was not committed, and why.
    pub(super) absent: Vec<(String, String)>,
    /// The transaction was dropped, or the result of its commit is unknown.
    pub(super) unknown: Vec<String>,
}

/// A summary of all journals.
pub(super) fn sum(journals: &[Journal]) -> String {
    let of = |count: fn(&Journal) -> usize| journals.iter().map(count).sum::<usize>();
    format!(
        "{} transactions were committed, {} were not, and the result of {} is unknown",
        of(|journal| journal.committed.len()),
        of(|journal| journal.absent.len()),
        of(|journal| journal.unknown.len()),
    )
}

impl Bank {
    pub(super) fn of(client: &Client) -> Self {
        let database = client.database("faults");
        Self {
            accounts: database.collection("accounts"),
            transfers: database.collection("transfers"),
            session: Arc::default(),
        }
    }

    /// The id of the session that was used last.
    pub(super) fn last_session(&self) -> Option<Document> {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Creates the accounts.
    pub(super) async fn open(direct: &Client) {
        let bank = Self::of(direct);
        let accounts: Vec<Document> = (0..ACCOUNTS)
            .map(|id| doc! { "_id": id, "amount": AMOUNT })
            .collect();
        bank.accounts.insert_many(&accounts).await.expect("stored");
        let database = bank.transfers.database();
        database.create_collection("transfers").await.expect("created");
    }

    async fn add(&self, session: &mut ClientSession, account: i32, amount: i32) -> Result<()> {
        let update = doc! { "$inc": { "amount": amount } };
        let updated = self
            .accounts
            .update_one(doc! { "_id": account }, update)
            .session(session)
            .await?;
        assert_eq!(updated.matched_count, 1);
        Ok(())
    }

    /// The first of the two updates of a transfer.
    pub(super) async fn withdraw(&self, session: &mut ClientSession, transfer: &Transfer) -> Result<()> {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session.id();
        self.add(session, transfer.from, -transfer.amount).await
    }

    /// Transfers the amount and stores the transfer.
    pub(super) async fn transfer(&self, session: &mut ClientSession, transfer: &Transfer) -> Result<()> {
        self.withdraw(session, transfer).await?;
        self.add(session, transfer.to, transfer.amount).await?;
        let Transfer { id, from, to, amount } = transfer;
        let stored = doc! { "_id": id, "from": from, "to": to, "amount": amount };
        self.transfers
            .insert_one(&stored)
            .session(session)
            .await
            .map(drop)
    }

    /// Reads all accounts in the transaction of the session, in several batches.
    pub(super) async fn read(&self, session: &mut ClientSession) -> Result<()> {
        let cursor = self
            .accounts
            .find(doc! {})
            .batch_size(BATCH)
            .session(session)
            .await?;
        check_sum(&cursor.try_collect().await?);
        Ok(())
    }

    /// Changes every account in the transaction of the session. Fails while another transaction has
    /// changed one.
    pub(super) async fn use_all(&self, session: &mut ClientSession) -> Result<()> {
        let touch = doc! { "$set": { "last": true } };
        let updated = self.accounts.update_many(doc! {}, touch).session(session).await?;
        assert_eq!(updated.matched_count, u64::from(ACCOUNTS.unsigned_abs()));
        Ok(())
    }

    /// Checks that the acknowledged transfers are stored, those that failed are not, and that each
    /// stored one has changed its two accounts once.
    pub(super) async fn compare(&self, journals: &[Journal]) {
        let stored = self.transfers.find(doc! {}).await.expect("a cursor");
        let stored = stored.try_collect().await.expect("all transfers");
        let mut amounts: BTreeMap<i32, i32> = (0..ACCOUNTS).map(|id| (id, AMOUNT)).collect();
        let mut transfers: BTreeMap<&str, &Document> = BTreeMap::new();
        for transfer in &stored {
            let amount = transfer.get_i32("amount").expect("an amount");
            for (account, change) in [("from", -amount), ("to", amount)] {
                let account = transfer.get_i32(account).expect("an account");
                *amounts.entry(account).or_default() += change;
            }
            let id = transfer.get_str("_id").expect("an id");
            transfers.insert(id, transfer);
        }
        assert_eq!(transfers.len(), stored.len(), "a transfer is stored twice");
        for journal in journals {
            for id in &journal.committed {
                let stored = transfers.remove(id.as_str());
                assert!(stored.is_some(), "{id} was acknowledged and is not stored");
            }
            for (id, why) in &journal.absent {
                assert!(
                    !transfers.contains_key(id.as_str()),
                    "the transaction of {id} is stored although it was not committed: {why}"
                );
            }
            for id in &journal.unknown {
                transfers.remove(id.as_str());
            }
        }
        assert!(transfers.is_empty(), "not made by a task: {transfers:?}");
        let accounts = self.accounts.find(doc! {}).await.expect("a cursor");
        let accounts = accounts.try_collect().await.expect("all accounts");
        check_sum(&accounts);
        for account in &accounts {
            let (id, amount) = (account.get_i32("_id"), account.get_i32("amount"));
            let expected = amounts.get(&id.clone().expect("an id")).copied();
            assert_eq!(
                amount.ok(),
                expected,
                "account {id:?}: a transfer was executed in part or twice"
            );
        }
    }
}

/// Checks that no transfer is visible in part.
fn check_sum(accounts: &[Document]) {
    let amounts = accounts
        .iter()
        .map(|account| account.get_i32("amount").expect("an amount"));
    assert_eq!(amounts.sum::<i32>(), ACCOUNTS * AMOUNT, "a half commit");
    assert_eq!(accounts.len(), ACCOUNTS.unsigned_abs() as usize);
}
