//! The sockets of DNS queries: one per query, so that its source port is unpredictable (RFC 5452).

use std::{
    future::{Future, poll_fn},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use crate::proto::dns::{
    Answer, Conversation, Exchange, Lookup, LookupFailure, MAX_MESSAGE, PATIENCE, Query, Reply,
    ServerFailure, Step, Transport,
};

/// The server of a conversation, and its outcome.
type Ended = (SocketAddr, Result<Answer, ServerFailure>);

/// Returns the first answer. The conversations end with this future.
pub(super) async fn run(lookup: Lookup) -> Result<Answer, LookupFailure> {
    run_with(lookup, converse).await
}

/// [`run`] with this function for one conversation.
async fn run_with<F: Future<Output = Ended>>(
    mut lookup: Lookup,
    converse: impl Fn(Conversation) -> F,
) -> Result<Answer, LookupFailure> {
    // Part of this future and not tasks, which the runtime can cancel: each conversation in
    // progress reports its end.
    let mut conversations = Conversations(Vec::new());
    loop {
        match lookup.next_step() {
            Step::Begin(conversation) => conversations.0.push(Box::pin(converse(conversation))),
            Step::Wait => {}
            Step::GiveUp(failure) => return Err(failure),
        }
        let next = poll_fn(|context| conversations.poll_next(context));
        let ended = if lookup.is_patient() {
            timeout(PATIENCE, next).await.ok()
        } else {
            Some(next.await)
        };
        match ended {
            Some((_, Ok(answer))) => return Ok(answer),
            Some((server, Err(failure))) => lookup.failed(server, failure),
            None => {}
        }
    }
}

/// The conversations in progress.
struct Conversations<F>(Vec<Pin<Box<F>>>);

impl<F: Future<Output = Ended>> Conversations<F> {
    /// Polls all conversations until one ends, and removes it.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        for index in 0..self.0.len() {
            if let Some(conversation) = self.0.get_mut(index)
                && let Poll::Ready(ended) = conversation.as_mut().poll(context)
            {
                drop(self.0.swap_remove(index));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    }
}

async fn converse(mut conversation: Conversation) -> Ended {
    loop {
        let outcome = match random() {
            Ok(id) => send(&conversation.exchange(id)).await,
            Err(failure) => Err(failure),
        };
        if let Some(end) = conversation.handle(outcome) {
            return (conversation.server(), end);
        }
    }
}

/// An unpredictable number.
pub(super) fn random() -> Result<u16, ServerFailure> {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(|error| ServerFailure::Random(error.to_string()))?;
    Ok(u16::from_ne_bytes(bytes))
}

async fn send(exchange: &Exchange) -> Result<Reply, ServerFailure> {
    let Exchange { server, query, .. } = exchange;
    let reply = async {
        match exchange.transport {
            Transport::Udp => over_udp(*server, query).await,
            Transport::Tcp => over_tcp(*server, query).await,
        }
    };
    match timeout(exchange.timeout, reply).await {
        Ok(reply) => reply.map_err(|error| ServerFailure::Socket(describe(&error))),
        Err(_) => Err(ServerFailure::Timeout(exchange.timeout)),
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection ended before its reply did".into(),
        _ => error.to_string(),
    }
}

async fn over_udp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let any_port: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any_port).await?;
    // The system then drops datagrams from other addresses.
    socket.connect(server).await?;
    socket.send(&query.bytes()).await?;
    let mut datagram = vec![0; MAX_MESSAGE];
    loop {
        let length = socket.recv(&mut datagram).await?;
        // A reply to another query may be forged (RFC 5452, section 9.1): it is ignored.
        if let Some(reply) = datagram.get(..length).and_then(|message| query.read(message)) {
            return Ok(reply);
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let question = query.bytes();
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    // In one write: some servers do not reassemble a message from several segments (RFC 7766,
    // section 8).
    stream
        .write_all(&[&length.to_be_bytes(), question.as_slice()].concat())
        .await?;
    let mut message = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut message).await?;
    let other_query = || io::Error::new(io::ErrorKind::InvalidData, "its reply is to another question");
    query.read(&message).ok_or_else(other_query)
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::pending, time::Duration};

    use super::*;
    use crate::proto::dns::{Kind, Name, NameServers};

    fn lookup(servers: u16, attempts: usize) -> Lookup {
        let addresses = (1..=servers).map(|port| (Ipv4Addr::LOCALHOST, port).into());
        let servers = NameServers {
            addresses: addresses.collect(),
            timeout: Duration::from_secs(5),
            attempts,
            rotate: false,
            tcp_only: false,
        };
        Lookup::new(Name::parse("example.com").unwrap(), Kind::A, servers, 0)
    }

    /// Increments the counter when it is dropped.
    struct CountDrop<'a>(&'a Cell<usize>);

    impl Drop for CountDrop<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[tokio::test]
    async fn the_lookup_fails_once_every_conversation_has_failed() {
        let begun = Cell::new(0);
        let failing = |conversation: Conversation| {
            begun.set(begun.get() + 1);
            async move {
                // The conversation is pending at first.
                tokio::task::yield_now().await;
                (
                    conversation.server(),
                    Err(ServerFailure::Socket("cancelled".into())),
                )
            }
        };
        let LookupFailure(failures) = run_with(lookup(2, 2), failing).await.unwrap_err();
        assert_eq!(begun.get(), 4);
        let servers: Vec<_> = failures.iter().map(|(server, _)| server.port()).collect();
        assert_eq!(servers, [1, 2]);
        let LookupFailure(failures) = run_with(lookup(0, 2), failing).await.unwrap_err();
        assert_eq!(failures, []);
    }

    #[tokio::test]
    async fn the_first_answer_cancels_the_other_conversations() {
        let ended = Cell::new(0);
        let converse = |conversation: Conversation| {
            let guard = CountDrop(&ended);
            async move {
                let _guard = guard;
                if conversation.server().port() == 1 {
                    pending::<()>().await;
                }
                (conversation.server(), Ok(Answer::Records(Vec::new())))
            }
        };
        let answer = run_with(lookup(2, 1), converse).await;
        assert_eq!(answer, Ok(Answer::Records(Vec::new())));
        assert_eq!(ended.get(), 2);
    }
}
