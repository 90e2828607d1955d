//! The requests that MongoDB refuses: writes to capped collections, system collections and views.

use super::{Deployments, Versions, rows};

const ALL: Deployments = Deployments::ALL;

rows! {
    CAPPED_DELETE: "capped-delete", 20, Versions::before(5, 0), ALL,
        "a delete in a capped collection",
        "cannot remove from a capped collection: {}",
        "delete stage, getExecutorDelete; manual: Capped Collections";
    CAPPED_GROW: "capped-grow", 10_003, Versions::before(5, 3), ALL,
        "an update that changes the size of a document in a capped collection",
        "Cannot change the size of a document in a capped collection: {} != {}",
        "collection_impl.cpp, updateDocument";
    ON_VIEW: "write-on-view", 166, Versions::ALL, ALL,
        "a write to a view",
        "Namespace {} is a view, not a collection",
        "db_raii.cpp, AutoGetCollection";
    SYSTEM_BEFORE_5: "write-system-before-5", 73, Versions::before(5, 0), ALL,
        "a write to a system collection such as `system.profile`, except those of the server's own data, such as `system.users`",
        "cannot write to '{}'",
        "insert.cpp of 4.2, userAllowedWriteNS";
    SYSTEM: "write-system", 73, Versions::since(5, 0), ALL,
        "a write to a system collection, except those of the server's own data, such as `system.users`",
        "Invalid system namespace: {}",
        "insert.cpp, userAllowedCreateNS";
    SYSTEM_PROFILE: "write-system-profile", 73, Versions::since(5, 0), ALL,
        "a write to `system.profile`",
        "cannot write to {}",
        "insert.cpp, userAllowedWriteNS";
    SYSTEM_VIEWS: "write-system-views", 73, Versions::since(5, 0), ALL,
        "a write to `system.views`",
        "cannot write to {}",
        "insert.cpp, userAllowedWriteNS";
    PART_BEFORE_5: "write-system-part-before-5", 2, Versions::before(5, 0), ALL,
        "a write to a collection whose name contains `.system.`",
        "cannot write to '{}'",
        "insert.cpp of 4.2, userAllowedCreateNS";
    PART: "write-system-part", 2, Versions::since(5, 0), ALL,
        "a write to a collection whose name contains `.system.`",
        "Invalid namespace: {}",
        "insert.cpp, userAllowedCreateNS";
}
