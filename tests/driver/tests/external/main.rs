//! Users that another system authenticates: `MONGODB-OIDC` and `MONGODB-AWS`. The prose tests of the
//! Authentication specification, with doubles of the metadata services, and peers that break their
//! protocols.

mod aws;
mod aws_cache;
mod aws_faults;
mod oidc_environments;
mod oidc_faults;
mod oidc_human;
mod oidc_machine;
mod oidc_reauthentication;
mod support;
