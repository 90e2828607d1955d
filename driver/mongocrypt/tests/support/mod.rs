//! The library under test, a key of `pymongocrypt`, and the server's part of Queryable Encryption for one value.

use aes::Aes256;
use bson::{Binary, Bson, Document, doc, spec::BinarySubtype};
use ctr::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use libtest_mimic::{Arguments, Trial};
use marula_mongocrypt::{Context, Crypt, CryptOptions, Library, State, Zeroizing};
use sha2::Sha256;

pub(crate) const KEY_ID: [u8; 16] = [
    0x6e, 0x7e, 0x2a, 0x0c, 0x27, 0x8f, 0x47, 0x5c, 0x86, 0x11, 0xd1, 0x5b, 0x53, 0xde, 0xd4, 0x7f,
];

/// The bytes 255, 254, …, 160.
pub(crate) const KEY_MATERIAL: [u8; 96] = {
    let mut material = [0; 96];
    let mut i = 0;
    while i < 96 {
        material[i] = 255 - i as u8;
        i += 1;
    }
    material
};

/// The key document of `pymongocrypt`, with [`KEY_MATERIAL`] encrypted with [`local_provider`].
pub(crate) const KEY_DOCUMENT: &str = "48010000055f69640010000000046e7e2a0c278f475c8611d15b53ded47f046b6579416c744e616d65730010000000023000040000006f6e650000056b65794d6174657269616c00a0000000009b53a5821aacf3fd46f5ea947695a4036188337774c231cc2a0115ab0a2bce87653657be3f5def4a172156419f677f4a481a74196f74aa32efbe898a4ee41aeaffd20c38b355e7b53cd3ec2ec3fed489451875bf48638f7920793338333e22cd072341691cfe2858482daa18c0c95c553c6fdf47de58989ecbb7d97715b6d508eda5e9e6df730b8413769507684a35c7167ac9d7440b783ab1e9b6efd05102c1096372656174696f6e446174650084a1c914a201000009757064617465446174650084a1c914a2010000107374617475730000000000036d61737465724b657900190000000270726f766964657200060000006c6f63616c000000";

/// A private key of 2048 bits for these tests, PKCS #8 in base64.
const RSA_KEY: &str = include_str!("rsa_key.txt");

/// The key is the bytes 0, 1, …, 95.
pub(crate) fn local_provider() -> Document {
    let key: Vec<u8> = (0..96).collect();
    doc! { "local": { "key": binary(0, &key) } }
}

pub(crate) fn library() -> Library {
    Library::load(None).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn crypt() -> Crypt {
    let mut providers = local_provider();
    providers.insert("aws", doc! { "accessKeyId": "id", "secretAccessKey": "secret" });
    providers.insert(
        "gcp",
        doc! { "email": "a@example.com", "privateKey": RSA_KEY.trim() },
    );
    let options = CryptOptions {
        kms_providers: Zeroizing::new(document(providers)),
        ..CryptOptions::default()
    };
    Crypt::new(library(), &options).unwrap()
}

pub(crate) fn hex_bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass a new document")]
pub(crate) fn document(document: Document) -> Vec<u8> {
    document.to_vec().unwrap()
}

pub(crate) fn binary(subtype: u8, bytes: &[u8]) -> Binary {
    Binary {
        subtype: BinarySubtype::from(subtype),
        bytes: bytes.to_vec(),
    }
}

/// Provides the key that the context asks for.
pub(crate) fn feed_key(context: &mut Context, key: &[u8]) {
    assert_eq!(context.state().unwrap(), State::NeedKeys);
    context.feed(key).unwrap();
    context.done().unwrap();
    // The provider `local` has no requests, but the state may be passed through.
    if context.state().unwrap() == State::NeedKms {
        assert!(context.next_kms().is_none());
        context.kms_done().unwrap();
    }
    assert_eq!(context.state().unwrap(), State::Ready);
}

/// Runs a context to its end, with the key of `pymongocrypt`.
pub(crate) fn finish(context: Context) -> Document {
    finish_with(context, &hex_bytes(KEY_DOCUMENT))
}

pub(crate) fn finish_with(mut context: Context, key: &[u8]) -> Document {
    if context.state().unwrap() == State::NeedKeys {
        feed_key(&mut context, key);
    }
    let result = context.finalize().unwrap();
    assert_eq!(context.state().unwrap(), State::Done);
    Document::from_reader(result.as_slice()).unwrap()
}

/// The bytes of the encrypted value `v`.
pub(crate) fn value_of(mut result: Document) -> Vec<u8> {
    match result.remove("v") {
        Some(Bson::Binary(value)) if value.subtype == BinarySubtype::Encrypted => value.bytes,
        other => panic!("{other:?}"),
    }
}

/// What the server stores for the payload of an insert with an equality index: the first value of an empty collection.
pub(crate) fn store(payload: &Document) -> Vec<u8> {
    let bytes = |name: &str| match payload.get(name) {
        Some(Bson::Binary(value)) => value.bytes.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let contention = payload.get_i64("k").unwrap();
    let tag = hmac(&hmac(&bytes("d"), 1), 1);
    let mut counter = 1_u64.to_le_bytes().to_vec();
    counter.extend_from_slice(&contention.to_le_bytes());
    let tokens = bytes("l");
    let mut stored = vec![14];
    stored.extend(bytes("u"));
    stored.push(u8::try_from(payload.get_i32("t").unwrap()).unwrap());
    stored.extend(encrypt(&bytes("e"), &bytes("v")));
    stored.extend(encrypt(&hmac(&tokens, 1), &counter));
    stored.extend(tag);
    stored.extend(encrypt(&hmac(&tokens, 2), &[0; 16]));
    stored
}

fn hmac(key: &[u8], number: u64) -> Vec<u8> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(&number.to_le_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// An initialization vector and AES-256-CTR. The server chooses the vector at random.
fn encrypt(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut output = vec![7; 16];
    output.extend_from_slice(bytes);
    let mut cipher = ctr::Ctr128BE::<Aes256>::new_from_slices(key, &[7; 16]).unwrap();
    cipher.apply_keystream(&mut output[16..]);
    output
}

/// Runs the tests, or reports them as ignored if the library is not installed.
pub(crate) fn run(tests: &[(&'static str, fn())]) -> ! {
    let missing = Library::load(None).err();
    let is_required = std::env::var_os("MARULA_REQUIRE_MONGOCRYPT").is_some();
    if let Some(error) = &missing {
        eprintln!("{error}");
    }
    let is_ignored = missing.is_some() && !is_required;
    let trials = tests.iter().map(|(name, test)| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
        .with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit()
}
