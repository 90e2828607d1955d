//! Index builds that a test keeps open: `createIndexes` on a collection with documents replies when
//! the test ends the build, and other commands on the collection fail meanwhile.

use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result};
use crate::refusal::ServerProfile;
use crate::refusal::index_builds as rows;
use crate::storage::Namespace;
use bson::{Document, Uuid, doc};
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// The index builds of a deployment.
#[derive(Debug, Default)]
pub(crate) struct IndexBuilds {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of [`HeldIndexBuilds`].
    holds: usize,
    builds: Vec<Build>,
}

/// An index build that has begun and is not complete.
#[derive(Debug, Clone)]
struct Build {
    id: Uuid,
    namespace: Namespace,
    collection: Uuid,
    /// The specifications of the indexes.
    specs: Vec<Document>,
    /// The command that has ended the build.
    aborted: Option<&'static str>,
}

impl Build {
    fn has(&self, index: &str) -> bool {
        self.specs
            .iter()
            .any(|spec| spec.get_str("name").is_ok_and(|name| name == index))
    }
}

/// A build that is listed until it is dropped.
pub(crate) struct OpenBuild<'b> {
    builds: &'b IndexBuilds,
    id: Uuid,
}

impl Drop for OpenBuild<'_> {
    fn drop(&mut self) {
        self.builds
            .change(|state| state.builds.retain(|build| build.id != self.id));
    }
}

impl OpenBuild<'_> {
    /// Waits until no test holds index builds; fails if the build was aborted.
    pub(crate) async fn wait(self) -> Result<()> {
        let mut changes = self.builds.changed.subscribe();
        loop {
            let (held, aborted) = self.builds.read(|state| {
                let build = state.builds.iter().find(|build| build.id == self.id);
                (state.holds > 0, build.and_then(|build| build.aborted))
            });
            if let Some(command) = aborted {
                let reason = format!("{}: {command} command", self.id);
                return Err(rows::ABORTED.error(&[&reason]));
            }
            if !held || changes.changed().await.is_err() {
                return Ok(());
            }
        }
    }
}

impl IndexBuilds {
    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&lock(&self.state))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut lock(&self.state));
        self.changed.send_replace(());
        result
    }

    pub(crate) fn are_held(&self) -> bool {
        self.read(|state| state.holds > 0)
    }

    /// Begins a build that is open until it is dropped.
    pub(crate) fn begin(
        &self,
        namespace: &Namespace,
        collection: Uuid,
        specs: Vec<Document>,
    ) -> OpenBuild<'_> {
        let id = Uuid::new();
        self.change(|state| {
            state.builds.push(Build {
                id,
                namespace: namespace.clone(),
                collection,
                specs,
                aborted: None,
            });
        });
        OpenBuild { builds: self, id }
    }

    /// The indexes that are built on a collection, as `listIndexes` returns them: the specifications,
    /// or `{spec, buildUUID}` for `includeBuildUUIDs`.
    pub(crate) fn listed(&self, namespace: &Namespace, with_ids: bool) -> Vec<Document> {
        let row = |id: Uuid, spec: &Document| {
            if with_ids {
                doc! { "spec": spec.clone(), "buildUUID": id }
            } else {
                spec.clone()
            }
        };
        self.read(|state| {
            let builds = state.builds.iter().filter(|build| build.namespace == *namespace);
            builds
                .flat_map(|build| build.specs.iter().map(|spec| row(build.id, spec)))
                .collect()
        })
    }

    /// Fails if an index of the collection is built.
    pub(crate) fn check(&self, profile: ServerProfile, namespace: &Namespace) -> Result<()> {
        let found = self.read(|state| {
            let build = state.builds.iter().find(|build| build.namespace == *namespace);
            build.map(|build| (build.collection, build.id))
        });
        match found {
            Some((collection, build)) => Err(running(profile, namespace, collection, build)),
            None => Ok(()),
        }
    }

    /// Ends the builds of a collection that is dropped. Before 4.4 the command fails instead.
    pub(crate) fn check_drop(&self, profile: ServerProfile, namespace: &Namespace) -> Result<()> {
        if !profile.version.at_least(4, 4) {
            return self.check(profile, namespace);
        }
        self.abort("drop", |build| build.namespace == *namespace);
        Ok(())
    }

    /// Ends the builds of a database that is dropped. Before 4.4 the command fails instead.
    pub(crate) fn check_drop_database(&self, profile: ServerProfile, database: &str) -> Result<()> {
        let is_of = |build: &Build| build.namespace.database == database;
        let found = self.read(|state| state.builds.iter().any(is_of));
        rows::DATABASE_4_2.check(profile, found, &[&database])?;
        self.abort("dropDatabase", is_of);
        Ok(())
    }

    /// Ends the builds that have exactly the indexes with these names, or all builds of the
    /// collection for `*`. Returns whether there are any. Fails if another build of the collection
    /// prevents that indexes are dropped.
    pub(crate) fn check_drop_indexes(
        &self,
        profile: ServerProfile,
        namespace: &Namespace,
        names: &[&str],
    ) -> Result<bool> {
        if !profile.version.at_least(4, 4) {
            return self.check(profile, namespace).map(|()| false);
        }
        let is_named = |build: &Build| {
            let all = |build: &Build| {
                build
                    .specs
                    .iter()
                    .all(|spec| spec.get_str("name").is_ok_and(|name| names.contains(&name)))
            };
            build.namespace == *namespace && (names == ["*"] || all(build))
        };
        let aborted = self.abort("dropIndexes", is_named);
        let blocking = self.read(|state| {
            let blocks = |build: &&Build| {
                // Since 5.2, a build prevents only that its own indexes are dropped.
                build.aborted.is_none()
                    && build.namespace == *namespace
                    && (!profile.version.at_least(5, 2) || names.iter().any(|name| build.has(name)))
            };
            let build = state.builds.iter().find(blocks);
            build.map(|build| (build.collection, build.id))
        });
        match blocking {
            Some((collection, build)) if !aborted => Err(running(profile, namespace, collection, build)),
            _ => Ok(aborted),
        }
    }

    fn abort(&self, command: &'static str, is_affected: impl Fn(&Build) -> bool) -> bool {
        self.change(|state| {
            let mut found = false;
            for build in state.builds.iter_mut().filter(|build| is_affected(build)) {
                build.aborted = Some(command);
                found = true;
            }
            found
        })
    }
}

fn running(profile: ServerProfile, namespace: &Namespace, collection: Uuid, build: Uuid) -> Error {
    if rows::COLLECTION_4_2.applies(profile) {
        return rows::COLLECTION_4_2.error(&[namespace]);
    }
    if rows::COLLECTION_BEFORE_6.applies(profile) {
        return rows::COLLECTION_BEFORE_6.error(&[&collection]);
    }
    rows::COLLECTION.error(&[&collection, &build])
}

/// Keeps index builds open until it is dropped. Returned by
/// [`TestServer::hold_index_builds`](crate::TestServer::hold_index_builds).
#[must_use = "index builds continue when it is dropped"]
pub struct HeldIndexBuilds {
    deployment: Arc<Deployment>,
}

impl fmt::Debug for HeldIndexBuilds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.open_builds();
        f.debug_struct("HeldIndexBuilds")
            .field("open_builds", &open)
            .finish()
    }
}

impl HeldIndexBuilds {
    pub(crate) fn new(deployment: Arc<Deployment>) -> HeldIndexBuilds {
        deployment.index_builds.change(|state| state.holds += 1);
        HeldIndexBuilds { deployment }
    }

    /// The number of open index builds: `createIndexes` commands that wait.
    #[must_use]
    pub fn open_builds(&self) -> usize {
        self.deployment.index_builds.read(|state| state.builds.len())
    }

    /// Waits, without a time limit, until at least `count` index builds are open.
    pub async fn wait_for_builds(&self, count: usize) {
        let mut changes = self.deployment.index_builds.changed.subscribe();
        while self.open_builds() < count {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Lets the index builds continue. The same as dropping it.
    pub fn release(self) {}
}

impl Drop for HeldIndexBuilds {
    fn drop(&mut self) {
        self.deployment.index_builds.change(|state| state.holds -= 1);
    }
}
