//! The requests that MongoDB refuses while an index is built.

use super::{Deployments, Versions, rows};

const ALL: Deployments = Deployments::ALL;

rows! {
    COLLECTION_4_2: "index-build-collection-4-2", 12_587, Versions::before(4, 4), ALL,
        "`collMod`, `dropIndexes`, `drop` or `renameCollection` of a collection while an index of it is built",
        "cannot perform operation: a background operation is currently running for collection {}",
        "background.cpp, assertNoBgOpInProgForNs";
    DATABASE_4_2: "index-build-database-4-2", 12_586, Versions::before(4, 4), ALL,
        "`dropDatabase` while an index of the database is built",
        "cannot perform operation: a background operation is currently running for database {}",
        "background.cpp, assertNoBgOpInProgForDb";
    COLLECTION_BEFORE_6: "index-build-collection-before-6", 12_587, Versions::between((4, 4), (6, 0)), ALL,
        "`collMod`, `renameCollection`, or `dropIndexes` of another index while an index of the collection is built",
        "cannot perform operation: an index build is currently running for collection with UUID: {}",
        "index_builds_coordinator.cpp, assertNoIndexBuildInProgForCollection";
    COLLECTION: "index-build-collection", 12_587, Versions::since(6, 0), ALL,
        "`collMod` or `renameCollection` of a collection while an index of it is built",
        "cannot perform operation: an index build is currently running for collection with UUID: {}. Found index build: {}",
        "index_builds_coordinator.cpp, assertNoIndexBuildInProgForCollection";
    ABORTED: "index-build-aborted", 276, Versions::since(4, 4), ALL,
        "`createIndexes` whose index or collection is dropped during the build",
        "Index build aborted: {}",
        "index_builds_coordinator.cpp, abortIndexBuildByBuildUUID";
}
