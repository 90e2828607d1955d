//! A command listener that records the cursors of change streams.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    bson::{Bson, Document},
    event::{CommandEvent, EventListener},
    options::ClientOptions,
};
use marula_driver_tests::{CommandId, command_id};

/// The cursors of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct CursorLog(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The cursors of getMore commands without a result.
    running: BTreeMap<CommandId, i64>,
    /// The number of cursors in the replies that the client has received.
    opened: usize,
    /// Whether all faults have ended.
    is_calm: bool,
    /// The cursors that a getMore has used since.
    used: BTreeSet<i64>,
}

impl CursorLog {
    /// Registers this log in the options.
    pub(super) fn listen(&self, options: &mut ClientOptions) {
        let log = self.clone();
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            log.lock().record(event);
        }));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All faults have ended: every cursor that is used from now on can be closed.
    pub(super) fn begin_calm(&self) {
        self.lock().is_calm = true;
    }

    /// The cursors that a getMore has used since the faults ended.
    pub(super) fn used_in_calm(&self) -> BTreeSet<i64> {
        self.lock().used.clone()
    }

    /// The number of cursors that were opened.
    pub(super) fn opened(&self) -> usize {
        self.lock().opened
    }
}

impl State {
    fn record(&mut self, event: &CommandEvent) {
        match event {
            CommandEvent::Started(started) if started.command_name == "getMore" => {
                let body = Document::try_from(&*started.command).unwrap_or_default();
                if let Some(Bson::Int64(id)) = body.get("getMore") {
                    self.running.insert(command_id(event), *id);
                }
            }
            CommandEvent::Succeeded(ended) => match ended.command_name.as_str() {
                "aggregate" => self.opened += 1,
                "getMore" => {
                    let id = self.running.remove(&command_id(event));
                    self.used.extend(id.filter(|_| self.is_calm));
                }
                _ => {}
            },
            CommandEvent::Failed(_) => {
                self.running.remove(&command_id(event));
            }
            _ => {}
        }
    }
}
