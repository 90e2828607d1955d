//! Documents and batches of the maximum size.

use marula_driver::bson::{Document, doc};

use crate::compression::{ALL, Tap, binary, noise, server, tapped};

const MAX_DOCUMENT: usize = 16 << 20;
const MAX_MESSAGE: usize = 48_000_000;
/// The number of bytes reserved for fields that only a retry has.
const RESERVED: usize = 1_000;

/// Compressing such messages without optimizations can take longer than a check of the server, which
/// runs on the same thread, may take by default.
fn options(compressor: &str) -> String {
    format!("compressors={compressor}&connectTimeoutMS=300000")
}

#[tokio::test]
async fn documents_of_16_mb_are_written_and_read() {
    let empty = marula_driver::bson::to_vec(&doc! { "_id": 1, "b": binary(vec![]) })
        .unwrap()
        .len();
    for (name, id) in ALL {
        let Tap { tap, client, _server } = tapped(server(), &options(name)).await;
        let things = client.database("d").collection::<Document>("c");
        for (key, content) in [
            (1, noise(MAX_DOCUMENT - empty)),
            (2, binary(vec![7; MAX_DOCUMENT - empty])),
        ] {
            let document = doc! { "_id": key, "b": content };
            things.insert_one(&document).await.unwrap();
            let found = things.find_one(doc! { "_id": key }).await.unwrap().unwrap();
            assert!(found == document, "{name} {key}");
        }
        let commands = tap.take_commands();
        assert!(
            commands.iter().all(|command| command.compressor == Some(id)),
            "{name}"
        );
        assert!(commands[2].length < 1 << 20, "{name}: {}", commands[2].length);
    }
}

#[tokio::test]
async fn batches_fill_messages_and_no_compressed_message_exceeds_the_limit() {
    for (name, id) in ALL {
        let Tap { tap, client, _server } = tapped(server(), &options(name)).await;
        let things = client.database("d").collection::<Document>("c");
        // Three documents almost fill a message; compressed, incompressible content exceeds the
        // message size.
        let size = (MAX_MESSAGE - RESERVED - 210) / 3;
        let hard = noise(size);
        let batch: Vec<Document> = (0..4).map(|n| doc! { "_id": n, "b": hard.clone() }).collect();
        things.insert_many(&batch).await.unwrap();
        let commands = tap.take_commands();
        let counts: Vec<usize> = commands.iter().map(|command| command.sequences[0].1).collect();
        assert_eq!(counts, [3, 1], "{name}");
        assert_eq!(commands[0].compressor, None, "{name}: {}", commands[0].length);
        assert!(commands[0].length > MAX_MESSAGE - RESERVED - 100 && commands[0].length <= MAX_MESSAGE);
        assert_eq!(commands[1].compressor, Some(id));
        // The batch size does not depend on the compression ratio.
        let batch: Vec<Document> = (4..8)
            .map(|n| doc! { "_id": n, "b": binary(vec![0; size]) })
            .collect();
        things.insert_many(&batch).await.unwrap();
        let commands = tap.take_commands();
        let counts: Vec<usize> = commands.iter().map(|command| command.sequences[0].1).collect();
        assert_eq!(counts, [3, 1], "{name}");
        assert!(
            commands.iter().all(|command| command.compressor == Some(id)),
            "{name}"
        );
        assert_eq!(things.count_documents(doc! {}).await.unwrap(), 8);
    }
}
