//! How much an explanation contains.

/// How much the explanation of a command contains ([explain]).
///
/// [explain]: https://www.mongodb.com/docs/manual/reference/command/explain/
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExplainVerbosity {
    /// The plan that the query planner chooses. The command is not executed. The default.
    #[default]
    QueryPlanner,
    /// Also the statistics of executing that plan: the numbers of examined index keys and documents,
    /// and the time. The server executes the command, without its writes.
    ExecutionStats,
    /// Also the statistics of the rejected plans.
    AllPlansExecution,
}

impl ExplainVerbosity {
    /// The value of the field `verbosity`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::QueryPlanner => "queryPlanner",
            Self::ExecutionStats => "executionStats",
            Self::AllPlansExecution => "allPlansExecution",
        }
    }
}
