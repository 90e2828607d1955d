//! Simulations of a client and a replica set with elections, crashes, partitions and overload.

use std::cell::RefCell;

use marula_fuzz_tests::simulation::{for_each_seed, simulate};

#[test]
fn invariants_hold_during_faults_of_a_replica_set() {
    let totals = RefCell::new((0, 0, 0, 0));
    for_each_seed(60, |seed| {
        let summary = simulate(seed);
        let mut totals = totals.borrow_mut();
        totals.0 += summary.succeeded;
        totals.1 += summary.failed;
        totals.2 += summary.changes;
        totals.3 += summary.cleared;
    });
    let (succeeded, failed, changes, cleared) = totals.into_inner();
    println!("{succeeded} operations succeeded, {failed} failed; {changes} changes, {cleared} pools cleared");
    // Some operations must fail and most must succeed.
    assert!(changes > 0 && cleared > 0 && succeeded > failed);
}

#[test]
fn a_run_depends_only_on_its_seed() {
    assert_eq!(simulate(7), simulate(7));
}
