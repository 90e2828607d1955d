//! The query planner. As on the server, candidate plans are executed for a trial period, and the
//! plan with the most results per work wins.

use super::clauses::{Clause, clauses};
use super::execution::{Executed, execute};
use super::scan::IndexScan;
use crate::command::plan::{Hint, resolve};
use crate::error::{Error, Result};
use crate::query::{Env, Filter};
use crate::storage::Collection;
use crate::storage::index::Kind;
use crate::value::number::Number;
use bson::{Bson, Document};

/// The number of results after which the trial period ends.
const TRIAL_RESULTS: usize = 101;
/// The number of works after which the trial period ends.
const TRIAL_WORKS: u64 = 10_000;

pub(crate) struct Query<'q> {
    /// `None` if the collection does not exist.
    pub(crate) collection: Option<&'q Collection>,
    pub(crate) filter: &'q Document,
    pub(crate) parsed: &'q Filter,
    pub(crate) sort: Option<&'q Document>,
    pub(crate) projection: Option<&'q Document>,
    pub(crate) skip: usize,
    pub(crate) limit: Option<usize>,
    pub(crate) hint: Option<&'q Bson>,
    pub(crate) env: &'q Env,
    /// The server supports EXPRESS stages (8.0+).
    pub(crate) express: bool,
}

/// The access path to the records.
#[derive(Debug, Clone)]
pub(super) enum Access<'c> {
    /// The collection does not exist.
    Missing,
    Records {
        forward: bool,
    },
    /// A point lookup on `_id`.
    Id(IndexScan<'c>),
    Index(IndexScan<'c>),
    /// One scan per branch of an `$or`, and the clauses outside the `$or`.
    Union(Vec<IndexScan<'c>>, Vec<Clause>),
}

#[derive(Debug, Clone)]
pub(super) struct Plan<'c> {
    pub(super) access: Access<'c>,
    /// A SORT stage is required.
    pub(super) sorts: bool,
    /// The index keys contain all fields that the query needs.
    pub(super) covered: bool,
}

/// The winning plan and the rejected plans.
pub(super) struct Choice<'c> {
    pub(super) clauses: Vec<Clause>,
    pub(super) winner: (Plan<'c>, Executed),
    pub(super) rejected: Vec<(Plan<'c>, Executed)>,
}

impl<'q> Query<'q> {
    /// The sort pattern, or `None` for no sort or a `$natural` sort.
    pub(super) fn key_sort(&self) -> Option<&'q Document> {
        self.sort
            .filter(|sort| !sort.is_empty() && !sort.contains_key("$natural"))
    }

    fn natural(&self) -> Option<bool> {
        let direction = self.sort?.get("$natural")?;
        Number::from_bson(direction).map(|direction| direction.to_f64() >= 0.0)
    }

    /// Returns whether the filter is a single equality on `_id`, which bypasses the planner.
    fn id_lookup(&self, clauses: &[Clause]) -> bool {
        let [Clause::Predicate(predicate)] = clauses else {
            return false;
        };
        predicate.path == "_id"
            && predicate.operator == "$eq"
            && !predicate.negated
            && !matches!(
                predicate.value,
                Bson::Null | Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined
            )
            && self.filter.len() == 1
            && self.filter.contains_key("_id")
            && self.hint.is_none()
            && self.skip == 0
    }

    fn plan(&self, collection: &'q Collection, mut access: Access<'q>) -> Plan<'q> {
        let sorts = match (&mut access, self.key_sort()) {
            (_, None) => false,
            (Access::Id(_) | Access::Missing, _) => false,
            (Access::Index(scan), Some(sort)) => !scan.orient(sort),
            (_, Some(_)) => true,
        };
        let covered = match &access {
            Access::Index(scan) => {
                collection.view.is_none() && scan.on_document.is_empty() && self.is_covered_by(scan)
            }
            _ => false,
        };
        Plan {
            access,
            sorts,
            covered,
        }
    }

    /// Returns whether the index keys contain every field of the projection and the sort.
    fn is_covered_by(&self, scan: &IndexScan<'_>) -> bool {
        let Some(fields) = self.projection.and_then(super::projected_fields) else {
            return false;
        };
        let sorted = self.key_sort().into_iter().flat_map(Document::keys).cloned();
        scan.contains(fields.into_iter().chain(sorted))
    }

    /// Returns all candidate plans.
    fn plans(&self, clauses: &[Clause]) -> Result<Vec<Plan<'q>>> {
        if self.parsed.near().is_some() || self.parsed.text().is_some() {
            return Err(Error::not_served("explain of $near and $text"));
        }
        let Some(collection) = self.collection else {
            return Ok(vec![Plan {
                access: Access::Missing,
                sorts: false,
                covered: false,
            }]);
        };
        if let Some(hint) = self.hint {
            let access = match resolve(collection, hint)? {
                Hint::Natural(forward) => Access::Records { forward },
                Hint::Index(index) if index.kind == Kind::Listed => {
                    return Err(Error::not_served(format!("a hint to the index {}", index.name)));
                }
                Hint::Index(index) => Access::Index(IndexScan::of_hint(collection, index, clauses)),
            };
            return Ok(vec![self.plan(collection, access)]);
        }
        if let Some(forward) = self.natural() {
            return Ok(vec![self.plan(collection, Access::Records { forward })]);
        }
        if self.id_lookup(clauses)
            && let Some(index) = collection.indexes.first()
            && let Some(scan) = IndexScan::of_clauses(collection, index, clauses, self.env)
        {
            return Ok(vec![self.plan(collection, Access::Id(scan))]);
        }
        let indexes = || collection.indexes.iter();
        let mut plans: Vec<Plan<'q>> = indexes()
            .filter_map(|index| IndexScan::of_clauses(collection, index, clauses, self.env))
            .map(|scan| self.plan(collection, Access::Index(scan)))
            .collect();
        if plans.is_empty()
            && let Some(access) = self.union(collection, clauses)
        {
            plans.push(self.plan(collection, access));
        }
        if self.key_sort().is_some() && plans.iter().all(|plan| plan.sorts) {
            let used: Vec<String> = plans
                .iter()
                .filter_map(|plan| match &plan.access {
                    Access::Index(scan) => Some(scan.index.name.clone()),
                    _ => None,
                })
                .collect();
            plans.extend(
                indexes()
                    .filter(|index| !used.contains(&index.name))
                    .filter_map(|index| IndexScan::of_full_range(collection, index, clauses, self.env))
                    .map(|scan| self.plan(collection, Access::Index(scan)))
                    .filter(|plan| !plan.sorts),
            );
        }
        if plans.is_empty() {
            plans.push(self.plan(collection, Access::Records { forward: true }));
        }
        Ok(plans)
    }

    /// Plans an `$or` with one scan per branch. Returns `None` if a branch has no usable index.
    fn union(&self, collection: &'q Collection, all: &[Clause]) -> Option<Access<'q>> {
        let (position, branches) = all
            .iter()
            .enumerate()
            .find_map(|(position, clause)| match clause {
                Clause::Or(branches) => Some((position, branches)),
                _ => None,
            })?;
        let best = |branch: &Vec<Clause>| {
            collection
                .indexes
                .iter()
                .filter_map(|index| IndexScan::of_clauses(collection, index, branch, self.env))
                .min_by_key(|scan| scan.run().keys_examined)
        };
        let scans = branches.iter().map(best).collect::<Option<Vec<_>>>()?;
        let rest = all
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != position)
            .map(|(_, clause)| clause.clone())
            .collect();
        Some(Access::Union(scans, rest))
    }

    /// Executes all candidate plans and selects the winner.
    pub(super) fn choose(&self) -> Result<Choice<'q>> {
        let clauses = clauses(self.filter);
        let plans = self.plans(&clauses)?;
        let mut tried = Vec::with_capacity(plans.len());
        for plan in plans {
            let executed = execute(self, &plan)?;
            tried.push((plan, executed));
        }
        let winner = best(&tried);
        let winner = tried.remove(winner);
        Ok(Choice {
            clauses,
            winner,
            rejected: tried,
        })
    }
}

/// Returns the position of the plan that wins the trial.
fn best(tried: &[(Plan<'_>, Executed)]) -> usize {
    let ends = |executed: &Executed| {
        let enough = executed.result_works.get(TRIAL_RESULTS - 1);
        enough.copied().unwrap_or(executed.works)
    };
    let end = tried
        .iter()
        .map(|(_, executed)| ends(executed))
        .min()
        .unwrap_or(0)
        .min(TRIAL_WORKS);
    let score = |(plan, executed): &(Plan<'_>, Executed)| {
        let advanced = executed.result_works.iter().filter(|at| **at <= end).count();
        let productivity = advanced as f64 / end.max(1) as f64;
        let eof = if executed.works <= end { 1.0 } else { 0.0 };
        let tie = 1.0_f64.min(1.0 / (10.0 * end.max(1) as f64)).min(1e-4);
        let bonus = |has: bool| if has { tie } else { 0.0 };
        1.0 + productivity + eof + bonus(plan.covered) + bonus(!plan.sorts)
    };
    let mut best = 0;
    for (position, candidate) in tried.iter().enumerate().skip(1) {
        if score(candidate) > score(&tried[best]) {
            best = position;
        }
    }
    best
}
