//! A bounded number of faults in a seeded order, and the rule by which proxies perform them.
//!
//! Faults of operations occur in bursts, in several exchanges at the same time: a failed server is
//! not checked again for half a second, so single faults would take long. Faults of handshakes,
//! authentication and monitors occur in the next exchange of their kind, a few after each burst.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use marula_driver_tests::{
    Proxy,
    proxy::{Action, Control, Done, Exchange},
};
use tokio::sync::watch;

use super::{
    kinds::{Kind, Load, Mode, Random, Target},
    table::Table,
};

/// The maximum number of faults in a burst. They, and the operations that hang since the previous
/// burst, must fit into the pool.
const BURST: usize = 10;
/// The maximum number of exchanges between two bursts.
const GAP: usize = 300;
/// The maximum number of faults between two bursts, for a target that is established again after a
/// burst.
const BETWEEN: usize = 2;

/// Shared by the proxies of a deployment and the tasks.
#[derive(Clone)]
pub(crate) struct Script(Arc<Shared>);

struct Shared {
    /// The number of faults so far.
    happened: watch::Sender<usize>,
    mode: Mode,
    load: Load,
    state: Mutex<State>,
    done: AtomicBool,
}

struct State {
    random: Random,
    /// The faults that have not been issued.
    queues: BTreeMap<Target, VecDeque<Kind>>,
    /// The number of faults that were issued to a proxy and have not been performed.
    under_way: usize,
    /// The number of faults of a target that may occur before the next burst.
    allowed: BTreeMap<Target, usize>,
    /// The number of exchanges before the next burst.
    gap: usize,
    /// The number of faults that are left in the current burst.
    lacking: usize,
    table: Table,
    controls: Vec<Control>,
}

/// A fault that was issued to a proxy. If the connection ends before, the fault is queued again.
struct IssuedFault {
    script: Script,
    target: Target,
    kind: Kind,
    happened: AtomicBool,
}

/// Prints the table if the test fails.
pub(crate) struct PrintOnDrop(Script);

impl Drop for PrintOnDrop {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0.outline());
        }
    }
}

impl Script {
    /// All kinds of faults for all targets, in an order determined by the seed.
    pub(crate) fn new(seed: u64, mode: Mode, load: Load) -> Self {
        let mut random = Random(seed);
        let mut queues = BTreeMap::new();
        for target in Target::all(mode, load) {
            let mut kinds = target.kinds().repeat(target.repetitions(load));
            for last in (1..kinds.len()).rev() {
                kinds.swap(last, random.below(last + 1));
            }
            queues.insert(target, VecDeque::from(kinds));
        }
        let state = State {
            random,
            queues,
            under_way: 0,
            allowed: BTreeMap::new(),
            gap: GAP,
            lacking: BURST,
            table: Table::default(),
            controls: Vec::new(),
        };
        Self(Arc::new(Shared {
            happened: watch::Sender::new(0),
            mode,
            load,
            state: Mutex::new(state),
            done: AtomicBool::new(false),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the rule of the proxies of a deployment.
    pub(crate) fn begin(&self, proxies: &[Proxy]) {
        self.lock().controls = proxies.iter().map(Proxy::control).collect();
        for proxy in proxies {
            let (script, control) = (self.clone(), proxy.control());
            proxy.set_rule(move |exchange| script.decide(exchange, &control));
        }
    }

    /// The number of faults that have not been performed.
    pub(crate) fn left(&self) -> usize {
        self.lock().queues.values().map(VecDeque::len).sum()
    }

    /// Whether all faults have been performed.
    pub(crate) fn is_done(&self) -> bool {
        self.0.done.load(Ordering::SeqCst)
    }

    /// Waits until `count` faults have been performed.
    pub(crate) async fn wait_for(&self, count: usize) {
        let mut happened = self.0.happened.subscribe();
        happened
            .wait_for(|happened| *happened >= count)
            .await
            .expect("the sender exists");
    }

    /// The number of faults performed so far.
    pub(crate) fn performed(&self) -> usize {
        self.lock().table.performed()
    }

    /// Records that an operation succeeded that began after this many faults.
    pub(crate) fn succeeded_after(&self, faults: usize) {
        self.lock().table.succeeded_after(faults);
    }

    /// Records that the client works after all faults.
    pub(crate) fn recovered_from_all(&self) {
        let mut state = self.lock();
        let all = state.table.performed();
        state.table.succeeded_after(all);
    }

    pub(crate) fn table(&self) -> Table {
        self.lock().table.clone()
    }

    /// The faults that were performed, and those that were not.
    pub(crate) fn outline(&self) -> String {
        let state = self.lock();
        format!(
            "{}\nissued and not performed: {}\nnot issued: {:?}\nexchanges before the next burst: {}, faults left in \
             it: {}\nconnections to reject: {:?}",
            state.table,
            state.under_way,
            state.queues,
            state.gap,
            state.lacking,
            state
                .controls
                .iter()
                .map(Control::remaining_rejections)
                .collect::<Vec<_>>()
        )
    }

    pub(crate) fn print_on_panic(&self) -> PrintOnDrop {
        PrintOnDrop(self.clone())
    }

    pub(crate) fn assert_every_kind_occurred(&self) {
        let table = self.table();
        let Shared { mode, load, .. } = *self.0;
        for target in Target::all(mode, load) {
            for kind in target.kinds() {
                let count = table.count(target, *kind);
                assert!(
                    count >= target.repetitions(load),
                    "{kind:?} of {target:?} occurred {count} times"
                );
            }
        }
        assert_eq!(table.recovered(), table.performed());
    }

    fn decide(&self, exchange: &Exchange<'_>, control: &Control) -> Action {
        let Some(target) = Target::of(exchange, self.0.mode) else {
            return Action::Pass;
        };
        let mut state = self.lock();
        let state = &mut *state;
        let action = if target.is_operation() {
            state.decide_operation(self, target, control)
        } else {
            state.decide_other(self, target)
        };
        self.0.done.store(state.is_done(), Ordering::SeqCst);
        action
    }
}

impl State {
    fn is_done(&self) -> bool {
        let turned_away = self
            .controls
            .iter()
            .all(|control| control.remaining_rejections() == 0);
        turned_away && self.under_way == 0 && self.queues.values().all(VecDeque::is_empty)
    }

    fn pop(&mut self, target: Target) -> Option<Kind> {
        self.queues.get_mut(&target)?.pop_front()
    }

    /// Issues a fault.
    fn issue(&mut self, script: &Script, target: Target, kind: Kind) -> Action {
        self.under_way += 1;
        let ticket = IssuedFault {
            script: script.clone(),
            target,
            kind,
            happened: AtomicBool::new(false),
        };
        let action = kind.action(&mut self.random);
        Action::Observed(Box::new(action), Done::new(move || ticket.happen()))
    }

    fn decide_other(&mut self, script: &Script, target: Target) -> Action {
        if !target.is_regular() {
            let allowed = self.allowed.entry(target).or_default();
            if *allowed == 0 {
                return Action::Pass;
            }
            *allowed -= 1;
        }
        match self.pop(target) {
            Some(kind) => self.issue(script, target, kind),
            None => Action::Pass,
        }
    }

    fn decide_operation(&mut self, script: &Script, target: Target, control: &Control) -> Action {
        if self.gap > 0 {
            self.gap -= 1;
            return Action::Pass;
        }
        let left = |kind: fn(Target) -> bool| {
            let queues = self.queues.iter().filter(|(target, _)| kind(**target));
            queues.map(|(_, queue)| queue.len()).sum::<usize>()
        };
        let (operations, others) = (
            left(Target::is_operation),
            left(|target| !target.is_operation() && !target.is_regular()),
        );
        let kind = match self.pop(target) {
            Some(kind) => kind,
            // Handshakes and authentication occur only after faults.
            None if operations == 0 && others > 0 => Kind::LoseRequest,
            None => return Action::Pass,
        };
        let action = self.issue(script, target, kind);
        self.lacking = self.lacking.saturating_sub(1);
        if self.lacking > 0 && operations > 1 {
            return Action::Later(Box::new(action));
        }
        let least = script.0.load.least_burst();
        self.lacking = least + self.random.below(BURST + 1 - least);
        self.gap = self.random.below(GAP);
        for target in [
            Target::MonitorHello,
            Target::PoolHello,
            Target::SaslStart,
            Target::SaslContinue,
        ] {
            self.allowed.insert(target, BETWEEN);
        }
        match self.pop(Target::Connect) {
            None => {}
            Some(kind) => {
                self.table.add(Target::Connect, kind);
                match kind {
                    Kind::Refuse => control.refuse(1),
                    _ => control.ignore(1),
                }
            }
        }
        self.end_waits();
        action
    }

    fn end_waits(&self) {
        for control in &self.controls {
            control.end_waits();
        }
    }
}

impl IssuedFault {
    fn happen(&self) {
        self.happened.store(true, Ordering::SeqCst);
        let mut state = self.script.lock();
        state.under_way -= 1;
        state.table.add(self.target, self.kind);
        self.script.0.happened.send_replace(state.table.performed());
        let done = state.is_done();
        self.script.0.done.store(done, Ordering::SeqCst);
    }
}

impl Drop for IssuedFault {
    fn drop(&mut self) {
        if !mem::take(self.happened.get_mut()) {
            let mut state = self.script.lock();
            state.under_way -= 1;
            let queue = state.queues.entry(self.target).or_default();
            queue.push_back(self.kind);
        }
    }
}
