//! Hosts from DNS: the prose tests of Initial DNS Seedlist Discovery and of Polling SRV Records for mongos Discovery, and
//! the errors that users meet.

#[path = "srv/polling.rs"]
mod polling;
#[path = "srv/seedlist.rs"]
mod seedlist;
