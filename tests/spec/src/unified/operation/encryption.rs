//! Operations on `clientEncryption` entities.

use marula_driver::{
    bson::{Binary, BinarySubtype, Bson, Document, Uuid, doc},
    encryption::{ClientEncryption, DataKey, EncryptionAlgorithm},
};

use super::{
    Done, Output,
    args::{Args, set},
    bulk::collection_result,
    collected, optional,
};
use crate::unified::stop::{Step, failed};

pub(super) async fn run(encryption: &ClientEncryption, name: &str, mut args: Args) -> Step<Option<Done>> {
    Ok(Some(match name {
        "createDataKey" => create_data_key(encryption, args).await?,
        "rewrapManyDataKey" => rewrap_many_data_key(encryption, args).await?,
        "encrypt" => encrypt(encryption, args).await?,
        "decrypt" => {
            let Some(Bson::Binary(value)) = args.take("value") else {
                return failed("decrypt requires a binary value");
            };
            args.finish()?;
            encryption.decrypt(&value).await.map(Output::Value)
        }
        "getKeys" => {
            args.finish()?;
            collected(encryption.get_keys().await).await
        }
        "getKeyByAltName" => {
            let name = args.required("keyAltName", Args::string)?;
            args.finish()?;
            encryption.get_key_by_alt_name(name).await.map(optional)
        }
        "getKey" => {
            let id = id(&mut args)?;
            args.finish()?;
            encryption.get_key(id).await.map(optional)
        }
        "deleteKey" => {
            let id = id(&mut args)?;
            args.finish()?;
            let result = encryption.delete_key(id).await;
            result.map(|result| {
                let count = i64::try_from(result.deleted_count).unwrap_or(i64::MAX);
                Output::Value(Bson::Document(doc! { "deletedCount": count }))
            })
        }
        "addKeyAltName" => {
            let (id, name) = (id(&mut args)?, args.required("keyAltName", Args::string)?);
            args.finish()?;
            encryption.add_key_alt_name(id, name).await.map(optional)
        }
        "removeKeyAltName" => {
            let (id, name) = (id(&mut args)?, args.required("keyAltName", Args::string)?);
            args.finish()?;
            encryption.remove_key_alt_name(id, name).await.map(optional)
        }
        _ => return Ok(None),
    }))
}

/// The argument `id`, a UUID.
fn id(args: &mut Args) -> Step<Uuid> {
    match args.take("id").as_ref().and_then(uuid) {
        Some(id) => Ok(id),
        None => failed("the argument \"id\" must be a UUID"),
    }
}

fn uuid(value: &Bson) -> Option<Uuid> {
    match value {
        Bson::Binary(Binary {
            subtype: BinarySubtype::Uuid,
            bytes,
        }) => Some(Uuid::from_bytes(bytes.as_slice().try_into().ok()?)),
        _ => None,
    }
}

/// The arguments in `opts`.
fn options(operation: &str, args: &mut Args) -> Step<Args> {
    Ok(Args::new(operation, args.document("opts")?.unwrap_or_default()))
}

async fn create_data_key(encryption: &ClientEncryption, mut args: Args) -> Step<Done> {
    let provider = args.required("kmsProvider", Args::string)?;
    let mut options = options("createDataKey.opts", &mut args)?;
    args.finish()?;
    let mut action = encryption.create_data_key(provider);
    set!(action, options; master_key <- document("masterKey"));
    match options.take("keyAltNames") {
        None => {}
        Some(Bson::Array(names)) => {
            action = action.alt_names(names.iter().filter_map(Bson::as_str));
        }
        Some(other) => return failed(format!("keyAltNames must be an array, found {other}")),
    }
    if let Some(material) = options.take("keyMaterial") {
        let Bson::Binary(material) = material else {
            return failed("keyMaterial must be binary");
        };
        action = action.key_material(material.bytes);
    }
    options.finish()?;
    Ok(action.await.map(|id| Output::Value(id.into())))
}

async fn rewrap_many_data_key(encryption: &ClientEncryption, mut args: Args) -> Step<Done> {
    let mut action = encryption.rewrap_many_data_key(args.required("filter", Args::document)?);
    let mut options = options("rewrapManyDataKey.opts", &mut args)?;
    args.finish()?;
    set!(action, options; provider <- string("provider"), master_key <- document("masterKey"));
    options.finish()?;
    Ok(action.await.map(|result| {
        let mut document = Document::new();
        if let Some(result) = result.bulk_write_result {
            document.insert("bulkWriteResult", collection_result(&result));
        }
        Output::Value(Bson::Document(document))
    }))
}

async fn encrypt(encryption: &ClientEncryption, mut args: Args) -> Step<Done> {
    let Some(value) = args.take("value") else {
        return failed("encrypt requires a value");
    };
    let mut options = options("encrypt.opts", &mut args)?;
    args.finish()?;
    let key = match (options.take("keyId"), options.string("keyAltName")?) {
        (Some(id), None) => uuid(&id).map(DataKey::Id),
        (None, Some(name)) => Some(DataKey::AltName(name)),
        _ => None,
    };
    let Some(key) = key else {
        return failed("encrypt requires keyId or keyAltName");
    };
    let algorithm = match options.required("algorithm", Args::string)?.as_str() {
        "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic" => EncryptionAlgorithm::Deterministic,
        "AEAD_AES_256_CBC_HMAC_SHA_512-Random" => EncryptionAlgorithm::Random,
        other => EncryptionAlgorithm::Other(other.to_owned()),
    };
    let mut action = encryption.encrypt(&value, key, algorithm);
    set!(action, options; contention_factor <- integer("contentionFactor"), query_type <- string("queryType"));
    options.finish()?;
    Ok(action.await.map(|value| Output::Value(Bson::Binary(value))))
}
