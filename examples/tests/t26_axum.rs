//! Task 26 of the everyday tasks: HTTP handlers with a collection as their state, and a response
//! that streams the documents of a query.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::get};
use futures_util::TryStreamExt;
use marula::{Collection, Document, Error, prelude::*};
use marula_examples::deployment::Deployment;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "items")]
struct Item {
    #[serde(rename = "_id")]
    id: i64,
    name: String,
}

struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self.0 {
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
        .into_response()
    }
}

async fn show(State(items): State<Collection<Item>>, Path(id): Path<i64>) -> Result<Json<Item>, Failure> {
    Ok(Json(items.find_by_id(id).required().await?))
}

/// One line of JSON for each document. The documents are read while the response is sent.
async fn export(State(items): State<Collection<Item>>) -> Result<Body, Failure> {
    let documents = items
        .find_all()
        .sort(|i| i.id().asc())
        .batch_size(10)
        .stream()
        .await?;
    let lines = documents
        .map_err(std::io::Error::other)
        .and_then(|item| async move { Ok(serde_json::to_string(&item)? + "\n") });
    Ok(Body::from_stream(lines))
}

async fn fetch(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.0\r\nhost: items\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.expect("a reply");
    reply
}

#[tokio::test]
async fn handlers_and_streams() {
    let deployment = Deployment::start().await.unwrap();
    let db = deployment.empty_database("marula_t26").await.unwrap();
    let items: Collection<Item> = db.collection();
    let item = |id| Item {
        id,
        name: format!("item {id}"),
    };
    items.insert_many((0..35).map(item)).await.unwrap();
    let router = Router::new()
        .route("/items", get(export))
        .route("/items/{id}", get(show))
        .with_state(items);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move { axum::serve(listener, router).await });

    let reply = fetch(address, "/items/7").await;
    assert!(reply.ends_with(r#"{"_id":7,"name":"item 7"}"#), "{reply}");
    assert!(fetch(address, "/items/99").await.starts_with("HTTP/1.0 404"));
    let reply = fetch(address, "/items").await;
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.lines().count(), 35);
    assert_eq!(body.lines().last(), Some(r#"{"_id":34,"name":"item 34"}"#));
    served.abort();
    db.driver().drop().await.unwrap();
    deployment.stop().await;
}
