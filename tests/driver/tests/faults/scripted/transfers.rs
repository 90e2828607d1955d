//! Tasks that transfer amounts between accounts in transactions while connections fail.

use std::{future::IntoFuture, pin::pin, time::Duration};

use marula_driver::{
    Client, Error, ErrorKind, Result, SYSTEM_OVERLOADED_ERROR, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT,
};

use super::{
    bank::{ACCOUNTS, Bank, Journal, Transfer},
    kinds::Random,
    script::Script,
    session_log::SessionLog,
    work,
    work::poll_at_most,
};

/// The number of commits of a transaction whose result is unknown.
const COMMITS: usize = 4;
/// The bound of the number of polls after which a future is dropped. A transfer takes about as many.
const POLLS: usize = 16;

/// Checks that the error is one that a failed connection or server, a write conflict or a time limit
/// may cause.
fn check(error: &Error) {
    let is_labeled = error.contains_label(TRANSIENT_TRANSACTION_ERROR)
        || error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT)
        || error.contains_label(SYSTEM_OVERLOADED_ERROR);
    if !is_labeled && !matches!(error.kind(), ErrorKind::Timeout(_)) {
        work::check(error);
    }
}

/// A task.
struct Teller {
    client: Client,
    bank: Bank,
    number: i32,
    step: i32,
    random: Random,
    journal: Journal,
}

/// Transfers until the script has ended.
pub(super) async fn work(client: Client, number: i32, seed: u64, script: Script, log: SessionLog) -> Journal {
    let mut teller = Teller {
        bank: Bank::of(&client),
        client,
        number,
        step: 0,
        random: Random(seed.wrapping_add(0x2000 + u64::from(number.unsigned_abs()))),
        journal: Journal::default(),
    };
    while !script.is_done() {
        let before = script.performed();
        match teller.step().await {
            Ok(()) => script.succeeded_after(before),
            Err(error) => {
                check(&error);
                if !matches!(error.kind(), ErrorKind::Command(_))
                    && let Some(session) = teller.bank.last_session()
                {
                    log.expect_lost_end(&session);
                }
            }
        }
    }
    teller.journal
}

impl Teller {
    async fn step(&mut self) -> Result<()> {
        self.step += 1;
        match self.random.below(13) {
            0..3 => self.run(None).await,
            3 => {
                let timeout = self.short_timeout();
                self.run(Some(timeout)).await
            }
            4 => self.run_in_session().await,
            5 => self.drop_run().await,
            6 | 7 => self.commit_scope().await,
            8 => self.drop_scope().await,
            9 => self.abort_scope().await,
            10 => self.commit_twice_in_session().await,
            11 => self.drop_operation().await,
            _ => self.read_all().await,
        }
    }

    fn transfer(&mut self, part: i32) -> Transfer {
        let from = self.random.below(ACCOUNTS.unsigned_abs() as usize) as i32;
        let distance = 1 + self.random.below(ACCOUNTS.unsigned_abs() as usize - 1) as i32;
        Transfer {
            id: format!("{}-{}-{part}", self.number, self.step),
            from,
            to: (from + distance) % ACCOUNTS,
            amount: 1 + self.random.below(9) as i32,
        }
    }

    fn short_timeout(&mut self) -> Duration {
        Duration::from_millis(1 + self.random.below(60) as u64)
    }

    /// Records what the result of a whole transaction says about the transfer.
    fn record(&mut self, transfer: Transfer, result: Result<()>) -> Result<()> {
        match &result {
            Ok(()) => self.journal.committed.push(transfer.id),
            Err(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {
                self.journal.unknown.push(transfer.id);
            }
            Err(error) => self.journal.absent.push((transfer.id, format!("{error:?}"))),
        }
        result
    }

    /// The convenient API, with or without a time limit.
    async fn run(&mut self, timeout: Option<Duration>) -> Result<()> {
        let transfer = self.transfer(0);
        let bank = &self.bank;
        let mut transaction = self.client.transaction();
        if let Some(timeout) = timeout {
            transaction = transaction.timeout(timeout);
        }
        let result = transaction
            .run(async |tx| bank.transfer(tx, &transfer).await)
            .await;
        self.record(transfer, result)
    }

    /// The convenient API in a session of the application, twice.
    async fn run_in_session(&mut self) -> Result<()> {
        let mut session = self.client.start_session().await?;
        for part in 0..2 {
            let transfer = self.transfer(part);
            let bank = &self.bank;
            let result = session
                .with_transaction()
                .run(async |session| bank.transfer(session, &transfer).await)
                .await;
            self.record(transfer, result)?;
        }
        Ok(())
    }

    /// Drops a whole transaction after some polls. Whether it was committed is unknown.
    async fn drop_run(&mut self) -> Result<()> {
        let polls = 1 + self.random.below(POLLS);
        let transfer = self.transfer(0);
        let bank = &self.bank;
        let run = self
            .client
            .transaction()
            .run(async |tx| bank.transfer(tx, &transfer).await);
        let result = poll_at_most(polls, pin!(run)).await;
        match result {
            Some(result) => self.record(transfer, result),
            None => {
                self.journal.unknown.push(transfer.id);
                Ok(())
            }
        }
    }

    /// The guard. A commit whose result is unknown is called again.
    async fn commit_scope(&mut self) -> Result<()> {
        let transfer = self.transfer(0);
        let timeout = (self.random.below(3) == 0).then(|| self.short_timeout());
        let mut tx = self.client.start_transaction().await?;
        let mut result = self.bank.transfer(&mut tx, &transfer).await;
        if result.is_ok() {
            for _ in 0..COMMITS {
                let mut commit = tx.commit();
                if let Some(timeout) = timeout {
                    commit = commit.timeout(timeout);
                }
                result = commit.await;
                let is_unknown = |error: &Error| error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT);
                if !result.as_ref().is_err_and(is_unknown) {
                    break;
                }
            }
        }
        self.record(transfer, result)
    }

    /// Drops the guard before the commit, during an operation or after the first one.
    async fn drop_scope(&mut self) -> Result<()> {
        let transfer = self.transfer(0);
        self.journal
            .absent
            .push((transfer.id.clone(), "the guard was dropped".to_owned()));
        let mut tx = self.client.start_transaction().await?;
        let polls = 1 + self.random.below(POLLS);
        poll_at_most(polls, pin!(self.bank.transfer(&mut tx, &transfer)))
            .await
            .unwrap_or(Ok(()))
    }

    /// Aborts the guard.
    async fn abort_scope(&mut self) -> Result<()> {
        let transfer = self.transfer(0);
        self.journal
            .absent
            .push((transfer.id.clone(), "the guard was aborted".to_owned()));
        let mut tx = self.client.start_transaction().await?;
        let result = self.bank.withdraw(&mut tx, &transfer).await;
        tx.abort().await?;
        result
    }

    /// Explicit start and commit, twice in one session.
    async fn commit_twice_in_session(&mut self) -> Result<()> {
        let mut session = self.client.start_session().await?;
        for part in 0..2 {
            let transfer = self.transfer(part);
            session.start_transaction().await?;
            let mut result = self.bank.transfer(&mut session, &transfer).await;
            if result.is_ok() {
                result = session.commit_transaction().await;
            } else {
                session.abort_transaction().await?;
            }
            self.record(transfer, result)?;
        }
        Ok(())
    }

    /// Drops the future of an operation of a transaction, and of a commit.
    async fn drop_operation(&mut self) -> Result<()> {
        let transfer = self.transfer(0);
        let mut session = self.client.start_session().await?;
        session.start_transaction().await?;
        let polls = 1 + self.random.below(4);
        let dropped = poll_at_most(polls, pin!(self.bank.withdraw(&mut session, &transfer))).await;
        if dropped.is_some() {
            session.abort_transaction().await?;
            session.start_transaction().await?;
        }
        // Fails if the operation was sent and its reply was not awaited.
        let result = self.bank.transfer(&mut session, &transfer).await;
        if result.is_err() {
            session.abort_transaction().await?;
            return self.record(transfer, result);
        }
        let commit = poll_at_most(polls, pin!(session.commit_transaction().into_future())).await;
        // A commit that was sent can be repeated, and one that was not sent can be called again.
        let result = match commit {
            Some(result) => result,
            None => session.commit_transaction().await,
        };
        self.record(transfer, result)
    }

    /// Reads all accounts in one transaction, in which no transfer is visible in part.
    async fn read_all(&mut self) -> Result<()> {
        let bank = &self.bank;
        self.client
            .transaction()
            .run(async |tx| bank.read(tx).await)
            .await
    }
}
