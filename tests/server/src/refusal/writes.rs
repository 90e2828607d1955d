//! The requests that MongoDB refuses: writes to capped collections and views.

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
}
