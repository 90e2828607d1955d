//! stub
use crate::connection::Connection;
pub(crate) struct PooledConnection(Connection);
impl std::ops::Deref for PooledConnection { type Target = Connection; fn deref(&self) -> &Connection { &self.0 } }
impl std::ops::DerefMut for PooledConnection { fn deref_mut(&mut self) -> &mut Connection { &mut self.0 } }
impl PooledConnection { pub(crate) fn generation(&self) -> u64 { todo!() } }
