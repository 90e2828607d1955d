//! Operations on clients.

use marula_driver::{bson::Bson, options::DriverInfo};

use super::{
    Done, Output,
    args::{Args, finish, set},
    bulk, change_stream, documents,
};
use crate::unified::{
    entity::ClientEntity,
    stop::{Step, failed},
};

pub(super) async fn run(entity: &ClientEntity, name: &str, mut args: Args) -> Step<Option<Done>> {
    let client = &entity.client;
    if name == "clientBulkWrite" {
        return bulk::run_on_client(client, args).await.map(Some);
    }
    let mut session = args.session();
    Ok(Some(match name {
        "listDatabases" => {
            let mut action = client.list_databases();
            set!(action, args; filter <- document("filter"), comment <- bson("comment"),
                authorized_databases <- boolean("authorizedDatabases"));
            finish!(action, args, session);
            documents(action.await)
        }
        "listDatabaseNames" => {
            let mut action = client.list_database_names();
            set!(action, args; filter <- document("filter"));
            finish!(action, args, session);
            action
                .await
                .map(|names| Output::Values(names.into_iter().map(Bson::String).collect()))
        }
        "createChangeStream" => change_stream::create(client.watch(), args).await?,
        "dropDatabase" => {
            let database = client.database(&args.required("database", Args::string)?);
            let mut action = database.drop();
            finish!(action, args, session);
            action.await.map(|()| Output::Nothing)
        }
        "appendMetadata" => {
            let given = args.required("driverInfoOptions", Args::document)?;
            args.finish()?;
            let mut info = DriverInfo::default();
            for (part, value) in given {
                let Bson::String(value) = value else {
                    return failed(format!("driverInfoOptions.{part} must be a string"));
                };
                match part.as_str() {
                    "name" => info.name = value,
                    "version" => info.version = Some(value),
                    "platform" => info.platform = Some(value),
                    _ => return failed(format!("unknown driverInfoOptions.{part}")),
                }
            }
            client.append_metadata(info).map(|()| Output::Nothing)
        }
        "close" => {
            args.finish()?;
            client.shutdown().await;
            Ok(Output::Nothing)
        }
        _ => return Ok(None),
    }))
}
