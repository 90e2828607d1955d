//! Hosts from DNS: the prose tests of Initial DNS Seedlist Discovery and of Polling SRV Records for
//! mongos Discovery, and error messages.

mod polling;
mod seedlist;
