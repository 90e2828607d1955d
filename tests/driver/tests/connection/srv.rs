//! Hosts from DNS: the prose tests of Initial DNS Seedlist Discovery and of Polling SRV Records for mongos Discovery, and
//! the errors that users meet.

mod polling;
mod seedlist;
