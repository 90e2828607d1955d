//! A live feed: the changes of a collection as server-sent events.
//!
//! `cargo run --example live_feed` listens on port `PORT` of the loopback address (default: 3000).
//! It connects to `MONGODB_URI`, which must be a replica set or a sharded cluster, or to an
//! in-process replica set if it is not set.
//!
//! ```sh
//! curl -N http://localhost:3000/channels/lobby/events
//! curl http://localhost:3000/channels/lobby --json '{"from": "ada", "text": "Hello"}'
//! ```

use std::convert::Infallible;
use std::net::Ipv4Addr;

use axum::Router;
use axum::extract::{Json, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use futures_util::{Stream, StreamExt};
use marula::bson::{DateTime, ObjectId};
use marula::driver::{ChangeOperation, ResumeToken};
use marula::{Collection, Document, prelude::*};
use marula_examples::deployment::Deployment;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "messages", index(channel, -at))]
pub(crate) struct Message {
    _id: ObjectId,
    channel: String,
    from: String,
    text: String,
    at: DateTime,
}

/// The body of a request that sends a message, and the data of an event.
#[derive(Serialize, Deserialize)]
struct Line {
    from: String,
    text: String,
}

/// An error of the database, as a status.
struct ApiError(marula::Error);

impl From<marula::Error> for ApiError {
    fn from(error: marula::Error) -> Self {
        ApiError(error)
    }
}

impl axum::response::IntoResponse for ApiError {
    fn into_response(self) -> axum::response::Response {
        eprintln!("live_feed: {}", self.0);
        let status = if self.0.is_unavailable() {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        status.into_response()
    }
}

async fn send(
    State(messages): State<Collection<Message>>,
    Path(channel): Path<String>,
    Json(line): Json<Line>,
) -> Result<StatusCode, ApiError> {
    let message = Message {
        _id: Message::new_id(),
        channel,
        from: line.from,
        text: line.text,
        at: DateTime::now(),
    };
    messages.insert_one(&message).await?;
    Ok(StatusCode::CREATED)
}

/// The new messages of a channel. A browser that lost the connection sends the id of the last event
/// that it received, which is a resume token: the events continue after it.
async fn events(
    State(messages): State<Collection<Message>>,
    Path(channel): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let mut watch = messages
        .watch()
        .operations([ChangeOperation::Insert])
        .filter(|m| m.channel().eq(&channel));
    if let Some(token) = last.and_then(token_of) {
        watch = watch.start_after(token);
    }
    let changes = watch.await?;
    let events = changes.filter_map(|change| async {
        let change = match change {
            Ok(change) => change,
            // The stream continues after a message that cannot be decoded, and ends after others.
            Err(error) => {
                eprintln!("live_feed: {error}");
                return None;
            }
        };
        let id = id_of(&change.id)?;
        let message = change.full_document?;
        let line = Line {
            from: message.from,
            text: message.text,
        };
        let event = Event::default().id(id).json_data(line);
        event.ok().map(Ok)
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// A resume token as the id of an event.
fn id_of(token: &ResumeToken) -> Option<String> {
    serde_json::to_string(token).ok()
}

fn token_of(id: &str) -> Option<ResumeToken> {
    serde_json::from_str(id).ok()
}

/// The application as a tower service.
pub(crate) fn router(messages: Collection<Message>) -> Router {
    Router::new()
        .route("/channels/{channel}", post(send))
        .route("/channels/{channel}/events", get(events))
        .with_state(messages)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::var("PORT").map_or(Ok(3000), |port| port.parse::<u16>())?;
    let deployment = Deployment::start().await?;
    let messages = deployment.client.database("marula_live_feed").collection();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!(
        "listening on http://{}; press Ctrl-C to stop",
        listener.local_addr()?
    );
    axum::serve(listener, router(messages))
        .with_graceful_shutdown(async {
            let _ = tokio::signal::ctrl_c().await;
        })
        .await?;
    deployment.stop().await;
    Ok(())
}
