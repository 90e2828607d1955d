//! A KMIP server for the operations of libmongocrypt: Register, Activate, Get, Create, Encrypt and Decrypt.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use aes::Aes256;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::Pkcs7};

use super::{
    State,
    ttlv::{Item, Value, read},
};

// The lower two bytes of tags (KMIP 1.0, section 9.1.3.1).
const BATCH_COUNT: u16 = 0x000d;
const BATCH_ITEM: u16 = 0x000f;
const IV_COUNTER_NONCE: u16 = 0x003d;
const KEY_BLOCK: u16 = 0x0040;
const KEY_FORMAT_TYPE: u16 = 0x0042;
const KEY_MATERIAL: u16 = 0x0043;
const KEY_VALUE: u16 = 0x0045;
const OBJECT_TYPE: u16 = 0x0057;
const OPERATION: u16 = 0x005c;
const PROTOCOL_VERSION: u16 = 0x0069;
const PROTOCOL_MAJOR: u16 = 0x006a;
const PROTOCOL_MINOR: u16 = 0x006b;
const RESPONSE_HEADER: u16 = 0x007a;
const RESPONSE_MESSAGE: u16 = 0x007b;
const RESPONSE_PAYLOAD: u16 = 0x007c;
const RESULT_MESSAGE: u16 = 0x007d;
const RESULT_REASON: u16 = 0x007e;
const RESULT_STATUS: u16 = 0x007f;
const SECRET_DATA: u16 = 0x0085;
const SECRET_DATA_TYPE: u16 = 0x0086;
const TIME_STAMP: u16 = 0x0092;
const UNIQUE_IDENTIFIER: u16 = 0x0094;
const DATA: u16 = 0x00c2;

// Operations.
const CREATE: u32 = 0x01;
const REGISTER: u32 = 0x03;
const GET: u32 = 0x0a;
const ACTIVATE: u32 = 0x12;
const ENCRYPT: u32 = 0x1f;
const DECRYPT: u32 = 0x20;

const SECRET_OBJECT: u32 = 7;
const SYMMETRIC_KEY_OBJECT: u32 = 2;
const NOT_FOUND: u32 = 1;

/// The secret data with the id 1 (public test data of drivers-evergreen-tools).
const SECRET_1: &str = "f5c95881f32706703371666849f9fd0e08cd8dc9376128fbdefefd496f3c7c90f8fb5e4c5d4d047562d4dac63609d363\
                        d770317c0b392e9d4689a125724617762ff3f0c881e8946aca320f7014389033d23343d40765ee3c298f26a3332ec015";
/// The AES key with the id 11, from the same source.
const KEY_11: &str = "ffa70da4e91562c92795354a33b28c56e95f12d061fe58fa5829e023889a4cd1";

/// The managed objects by their ids.
pub(super) struct Objects(Mutex<BTreeMap<String, Vec<u8>>>);

impl Default for Objects {
    fn default() -> Self {
        let known = [("1", SECRET_1), ("11", KEY_11)];
        let objects = known.map(|(id, hex)| (id.to_owned(), hex::decode(hex).expect("hexadecimal digits")));
        Self(Mutex::new(BTreeMap::from(objects)))
    }
}

impl Objects {
    fn add(&self, bytes: Vec<u8>) -> String {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("new-{}", objects.len());
        objects.insert(id.clone(), bytes);
        id
    }

    fn get(&self, id: &str) -> Option<Vec<u8>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned()
    }
}

/// The response to the first complete request, which is removed.
pub(super) fn answer(received: &mut Vec<u8>, state: &State) -> Option<Vec<u8>> {
    let (request, size) = read(received)?;
    received.drain(..size);
    let Some(Value::Enumeration(operation)) = request.find(OPERATION) else {
        return None;
    };
    state.record("kmip", &format!("{operation:#x}"));
    let result = perform(*operation, &request, &state.kmip);
    let mut response = Vec::new();
    message(&request, *operation, result).write(&mut response);
    Some(response)
}

fn perform(operation: u32, request: &Item, objects: &Objects) -> Option<Vec<Item>> {
    let text = |tag| match request.find(tag) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let bytes = |tag| match request.find(tag) {
        Some(Value::Bytes(bytes)) => Some(bytes.as_slice()),
        _ => None,
    };
    let id = || text(UNIQUE_IDENTIFIER);
    let item = |id: &str| Item::text(UNIQUE_IDENTIFIER, id);
    Some(match operation {
        REGISTER => vec![item(&objects.add(bytes(KEY_MATERIAL)?.to_vec()))],
        CREATE => {
            let id = objects.add((100..132).collect());
            vec![Item::enumeration(OBJECT_TYPE, SYMMETRIC_KEY_OBJECT), item(&id)]
        }
        ACTIVATE => {
            objects.get(id()?)?;
            vec![item(id()?)]
        }
        GET => {
            let material = Item::bytes(KEY_MATERIAL, &objects.get(id()?)?);
            let block = vec![
                Item::enumeration(KEY_FORMAT_TYPE, 2),
                Item::structure(KEY_VALUE, vec![material]),
            ];
            let secret = vec![
                Item::enumeration(SECRET_DATA_TYPE, 1),
                Item::structure(KEY_BLOCK, block),
            ];
            vec![
                Item::enumeration(OBJECT_TYPE, SECRET_OBJECT),
                item(id()?),
                Item::structure(SECRET_DATA, secret),
            ]
        }
        ENCRYPT => {
            let iv: [u8; 16] = std::array::from_fn(|i| u8::try_from(i).unwrap_or_default());
            let cipher = cbc::Encryptor::<Aes256>::new_from_slices(&objects.get(id()?)?, &iv).ok()?;
            let data = cipher.encrypt_padded_vec::<Pkcs7>(bytes(DATA)?);
            vec![
                item(id()?),
                Item::bytes(DATA, &data),
                Item::bytes(IV_COUNTER_NONCE, &iv),
            ]
        }
        DECRYPT => {
            let key = objects.get(id()?)?;
            let cipher = cbc::Decryptor::<Aes256>::new_from_slices(&key, bytes(IV_COUNTER_NONCE)?).ok()?;
            let data = cipher.decrypt_padded_vec::<Pkcs7>(bytes(DATA)?).ok()?;
            vec![item(id()?), Item::bytes(DATA, &data)]
        }
        _ => return None,
    })
}

/// A response with one batch item, in the protocol version of the request.
fn message(request: &Item, operation: u32, result: Option<Vec<Item>>) -> Item {
    let number = |tag, default| match request.find(tag) {
        Some(Value::Integer(number)) => *number,
        _ => default,
    };
    let version = vec![
        Item::integer(PROTOCOL_MAJOR, number(PROTOCOL_MAJOR, 1)),
        Item::integer(PROTOCOL_MINOR, number(PROTOCOL_MINOR, 0)),
    ];
    let header = vec![
        Item::structure(PROTOCOL_VERSION, version),
        Item {
            tag: TIME_STAMP,
            value: Value::Date(1_700_000_000),
        },
        Item::integer(BATCH_COUNT, 1),
    ];
    let operation = Item::enumeration(OPERATION, operation);
    let item = match result {
        Some(payload) => vec![
            operation,
            Item::enumeration(RESULT_STATUS, 0),
            Item::structure(RESPONSE_PAYLOAD, payload),
        ],
        None => vec![
            operation,
            Item::enumeration(RESULT_STATUS, 1),
            Item::enumeration(RESULT_REASON, NOT_FOUND),
            Item::text(RESULT_MESSAGE, "the object does not exist"),
        ],
    };
    Item::structure(
        RESPONSE_MESSAGE,
        vec![
            Item::structure(RESPONSE_HEADER, header),
            Item::structure(BATCH_ITEM, item),
        ],
    )
}
