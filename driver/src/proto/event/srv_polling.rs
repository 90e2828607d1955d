//! What is wrong with the answers to later SRV lookups, which is logged. No part of the public interface.

use crate::bson::ObjectId;

/// A later lookup had no answer, or a record in it cannot be used. The deployment stays as it is, that record apart.
#[derive(Clone, Debug)]
pub struct SrvPollingProblem {
    /// Names the client's view of the deployment.
    pub topology_id: ObjectId,
    /// The name whose SRV records were asked for.
    pub record: String,
    /// What is wrong.
    pub problem: String,
}
