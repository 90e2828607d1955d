//! The shop as an executable: `cargo run --example shop`.
//!
//! It listens on port `PORT` of the loopback address (default: 3000) and connects to `MONGODB_URI`.
//! If `MONGODB_URI` is not set, it starts an in-process server, which does not persist data.

use std::{env, error::Error, net::Ipv4Addr, process::ExitCode, time::Duration};

use marula_examples::shop::{Shop, router::serve, sync_indexes};
use marula_test_server::TestServer;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shop: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let port = match env::var("PORT") {
        Ok(port) => port
            .parse()
            .map_err(|_| format!("PORT must be a number from 0 to 65535, found {port:?}"))?,
        Err(_) => 3000,
    };
    let (uri, server) = match env::var("MONGODB_URI") {
        Ok(uri) => (uri, None),
        Err(_) => {
            let server = TestServer::builder().start().await?;
            println!("MONGODB_URI is not set: using an in-process server, which does not persist data.");
            (server.uri(), Some(server))
        }
    };

    let client = marula::connect(&uri).await?;
    let db = client
        .default_database()
        .unwrap_or_else(|| client.database("shop"));
    let plan = sync_indexes(&db).await?;
    println!("Indexes:\n{plan}");

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    print_usage(&format!("http://{}", listener.local_addr()?));
    serve(listener, Shop::new(&db), interrupted()).await?;

    client.shutdown().deadline(Duration::from_secs(10)).await;
    if let Some(server) = server {
        server.stop().await;
    }
    Ok(())
}

fn print_usage(url: &str) {
    println!(
        r#"The shop listens at {url}. Examples:

  curl {url}/customers --json '{{"name": "Thandi", "email": "thandi@example.com", "address": {{"street": "Long Street 1", "city": "Cape Town", "country": "ZA"}}}}'
  curl '{url}/customers?email=THANDI@example.com'
  curl {url}/orders --json '{{"customerId": "ID", "lines": [{{"sku": "tea", "quantity": 2, "priceCents": 495}}]}}'
  curl '{url}/orders?status=open&sku=tea&limit=10'
  curl -X PATCH {url}/orders/ID/lines/tea --json '{{"quantity": 3}}'
  curl -X POST {url}/orders/ID/pay

Press Ctrl-C to stop it."#
    );
}

/// Completes at Ctrl-C.
async fn interrupted() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        eprintln!("shop: cannot listen for Ctrl-C; kill the process to stop it: {error}");
        std::future::pending::<()>().await;
    }
}
