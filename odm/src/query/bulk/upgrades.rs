//! The upgrades of older documents that the updates of a bulk write match, before the writes.

use std::sync::{Arc, OnceLock};

use crate::{
    base::{error::Result, time_limit::TimeLimit},
    driver::{Namespace, options::PrecedingOptions},
    query::{
        bulk::versions::{Built, Effect},
        handle::action::Session,
        write::outdated::Upgrade,
    },
};

/// Removes the upgrades from the writes of a bulk write. Those by ids of one collection are joined, and those by equal filters:
/// no upgrade depends on another.
pub(in crate::query) fn take_upgrades<T>(built: &mut [Built<T>]) -> Vec<Upgrade> {
    let mut upgrades = Vec::<Upgrade>::new();
    for Built { effect, .. } in built {
        if matches!(effect, Effect::MatchesUpgraded(_))
            && let Effect::MatchesUpgraded(mut upgrade) = std::mem::replace(effect, Effect::Matches)
            && !upgrades.iter_mut().any(|known| known.join(&mut upgrade))
        {
            upgrades.push(*upgrade);
        }
    }
    upgrades
}

/// Performs the upgrades of a bulk write with these options, within its time limit.
pub(in crate::query) async fn perform(
    upgrades: Vec<Upgrade>,
    options: PrecedingOptions,
    limit: &TimeLimit,
    mut session: Session<'_>,
) -> Result<()> {
    let mut collations: Vec<(Namespace, Arc<OnceLock<bool>>)> = Vec::new();
    for mut upgrade in upgrades {
        let namespace = upgrade.collection.namespace();
        match collations.iter().find(|(known, _)| known == namespace) {
            Some((_, is_collated)) => upgrade.is_collated = Arc::clone(is_collated),
            None => collations.push((namespace.clone(), Arc::clone(&upgrade.is_collated))),
        }
        upgrade.options = options.clone();
        upgrade.run(limit, session.as_deref_mut()).await?;
    }
    Ok(())
}
