//! stub
use crate::{*, connection::ConnectionSettings, pool::PooledConnection, proto::server_selection::Criteria, types::deadline::Deadline, options::ClientOptions};
use std::{sync::Arc, time::Duration};
#[derive(Debug)] pub(crate) struct Topology;
pub(crate) struct TopologySettings;
impl TopologySettings { pub(crate) fn new(_: &ClientOptions, _: ConnectionSettings) -> Self { todo!() } }
#[derive(Debug)] pub(crate) struct SelectedServer;
impl Topology {
 pub(crate) fn start(_: TopologySettings) -> Arc<Self> { todo!() }
 pub(crate) fn try_select(&self, _: Criteria<'_>, _: Option<&ServerAddress>) -> Option<SelectedServer> { todo!() }
 pub(crate) async fn select(&self, _: Criteria<'_>, _: Option<&ServerAddress>, _: Deadline) -> Result<SelectedServer> { todo!() }
 pub(crate) fn handle_error(&self, _: &SelectedServer, _: u64, _: &Error) {}
 pub(crate) fn session_timeout(&self) -> Option<Duration> { todo!() }
 pub(crate) async fn close(&self) { todo!() }
}
impl SelectedServer {
 pub(crate) fn address(&self) -> &ServerAddress { todo!() }
 pub(crate) fn is_direct(&self) -> bool { todo!() }
 pub(crate) fn try_check_out(&self) -> Option<PooledConnection> { todo!() }
 pub(crate) async fn check_out(&self, _: Deadline) -> Result<PooledConnection> { todo!() }
}
