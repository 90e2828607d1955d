//! stub
use crate::{
    connection::{Connection, ConnectionSettings},
    options::ClientOptions,
    types::deadline::Deadline,
    *,
};
use std::sync::{Arc, Weak};
#[derive(Debug)]
pub(crate) struct PooledConnection(Connection);
impl std::ops::Deref for PooledConnection {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.0
    }
}
impl std::ops::DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0
    }
}
impl PooledConnection {
    pub(crate) fn generation(&self) -> u64 {
        todo!()
    }
}
#[derive(Debug, Clone)]
pub(crate) struct PoolSettings {
    pub(crate) max_pool_size: u32,
    pub(crate) min_pool_size: u32,
    pub(crate) max_connecting: u32,
    pub(crate) max_idle_time: Option<std::time::Duration>,
    pub(crate) wait_queue_timeout: Option<std::time::Duration>,
}
impl From<&ClientOptions> for PoolSettings {
    fn from(_: &ClientOptions) -> Self {
        todo!()
    }
}
#[derive(Debug)]
pub(crate) struct Pool;
pub(crate) trait PoolListener: Send + Sync {
    fn handshake_failed(&self, address: &ServerAddress, generation: u64, error: &Error);
}
impl Pool {
    pub(crate) fn new(
        _: ServerAddress,
        _: PoolSettings,
        _: ConnectionSettings,
        _: Weak<dyn PoolListener>,
    ) -> Arc<Self> {
        todo!()
    }
    pub(crate) fn ready(&self) {}
    pub(crate) fn clear(&self, _: &Error) {}
    pub(crate) fn close(&self) {}
    pub(crate) fn generation(&self) -> u64 {
        todo!()
    }
    pub(crate) fn try_check_out(self: &Arc<Self>) -> Option<PooledConnection> {
        todo!()
    }
    pub(crate) async fn check_out(self: &Arc<Self>, _: Deadline) -> Result<PooledConnection> {
        todo!()
    }
}
