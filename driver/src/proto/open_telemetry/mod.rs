//! Settings, names and attributes of the spans of operations and commands ([OpenTelemetry]).
//!
//! [OpenTelemetry]:
//! https://github.com/mongodb/specifications/blob/master/source/open-telemetry/open-telemetry.md

mod command;
mod settings;

pub(crate) use command::{CommandFields, cursor_id, statement};
pub(crate) use settings::TracingSettings;

/// The database of the commands on the deployment. Such a command has no collection in traces.
const ADMIN: &str = "admin";

/// What an operation or a command is, and what it is performed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// The name of the operation or of the command.
    pub(crate) name: &'a str,
    pub(crate) database: &'a str,
    /// The collection. See [`shown_collection`](Self::shown_collection).
    pub(crate) collection: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// `db.collection.name`: absent for all that runs on the database `admin`.
    pub(crate) fn shown_collection(&self) -> Option<&'a str> {
        self.collection.filter(|_| self.database != ADMIN)
    }

    /// The name of an operation span (`db.operation.summary`), and `db.query.summary` of a command
    /// span: `find shop.orders`, `listCollections shop`, `commitTransaction admin`.
    pub(crate) fn summary(&self) -> String {
        let Self { name, database, .. } = self;
        match self.shown_collection() {
            Some(collection) => format!("{name} {database}.{collection}"),
            None => format!("{name} {database}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_name_the_collection_except_on_admin() {
        for (database, collection, summary) in [
            ("shop", Some("orders"), "find shop.orders"),
            ("shop", None, "find shop"),
            ("admin", Some("orders"), "find admin"),
            ("admin", None, "find admin"),
        ] {
            let target = Target {
                name: "find",
                database,
                collection,
            };
            assert_eq!(target.summary(), summary);
        }
    }
}
