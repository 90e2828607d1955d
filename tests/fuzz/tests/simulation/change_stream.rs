//! A change stream of the machine, and a deployment whose members lose cursors, replies and
//! elections at random.

use marula_driver::{
    ResumeToken,
    bson::rawdoc,
    internals::change_stream::{Action, ChangeStream, Failure, Reply, Start},
};
use marula_fuzz_tests::simulation::{Random, for_each_seed};

/// The number of failures in each history, elections among them.
const FAILURES: u64 = 500;

/// The oplog: one event for each number.
fn token(number: u64) -> ResumeToken {
    ResumeToken::from(rawdoc! { "_data": format!("{number:016x}") })
}

fn number(token: &ResumeToken) -> u64 {
    let text = token
        .as_document()
        .get_str("_data")
        .expect("a token of this test");
    u64::from_str_radix(text, 16).expect("a number")
}

/// The server's cursor: the number of the next event.
struct Deployment {
    random: Random,
    written: u64,
    cursor: Option<u64>,
    has_post_batch_tokens: bool,
}

impl Deployment {
    /// The next batch: the numbers of its events, and the reply.
    fn batch(&mut self) -> (Vec<u64>, Reply) {
        let from = self.cursor.expect("an open cursor");
        let length = self.random.below(4).min(self.written - from);
        // A getMore may end before the end of the oplog.
        let events: Vec<u64> = (from..from + length).collect();
        self.cursor = Some(from + length);
        let scanned = from + length;
        let reply = Reply {
            is_open: true,
            is_empty: events.is_empty(),
            // The token of the event before the position.
            post_batch_resume_token: (self.has_post_batch_tokens && scanned > 0).then(|| token(scanned - 1)),
            operation_time: None,
        };
        (events, reply)
    }

    fn failure(&mut self) -> Failure {
        let server = |code, is_labeled| Failure::Server {
            code,
            is_labeled,
            is_unstarted: false,
            wire_version: 25,
        };
        match self.random.below(5) {
            0 => Failure::NoReply,
            1 => Failure::Timeout,
            2 => server(43, false),
            3 => server(189, true),
            _ => server(10107, true),
        }
    }
}

fn history(seed: u64) {
    let mut random = Random::new(seed);
    let has_post_batch_tokens = random.percent(50);
    let mut deployment = Deployment {
        random,
        // The stream starts after the first event.
        written: 1,
        cursor: None,
        has_post_batch_tokens,
    };
    let start = Start {
        start_after: Some(token(0)),
        ..Start::default()
    };
    let mut stream = ChangeStream::new(start);
    let mut batch = Vec::<u64>::new();
    let mut seen = 0;
    let mut failures = 0;
    while failures < FAILURES || seen + 1 < deployment.written {
        if failures < FAILURES {
            deployment.written += deployment.random.below(3);
        }
        if !batch.is_empty() {
            let event = batch.remove(0);
            assert_eq!(event, seen + 1, "events are neither lost nor repeated");
            seen = event;
            let id = token(event);
            stream
                .deliver(Some(id.as_document()), batch.is_empty())
                .expect("a token");
            continue;
        }
        let action = stream.next_action();
        let fails = failures < FAILURES && deployment.random.percent(40);
        failures += u64::from(fails);
        match action {
            Action::End => panic!("the stream does not end"),
            // The future was dropped, or the reply was lost: the cursor may have advanced.
            _ if fails && deployment.random.percent(20) => {
                if action == Action::GetMore {
                    drop(deployment.batch());
                }
            }
            Action::GetMore if fails => {
                if deployment.random.percent(50) {
                    drop(deployment.batch());
                }
                let failure = deployment.failure();
                stream.failed(&failure);
                deployment.cursor = None;
            }
            Action::Aggregate { .. } if fails => {
                let failure = if deployment.random.percent(50) {
                    Failure::NoReply
                } else {
                    Failure::Timeout
                };
                assert!(!stream.failed(&failure).resumes);
            }
            Action::GetMore => {
                let (events, reply) = deployment.batch();
                batch = events;
                stream.replied(reply);
            }
            Action::Aggregate { start, .. } => {
                let after = start.resume_after.or(start.start_after).expect("a token");
                assert!(number(&after) >= seen, "the position never moves back");
                deployment.cursor = Some(number(&after) + 1);
                let (events, reply) = deployment.batch();
                batch = events;
                stream.replied(reply);
            }
        }
        assert!(stream.is_alive());
    }
    assert_eq!(seen + 1, deployment.written);
}

#[test]
fn a_stream_loses_and_repeats_no_event_with_500_failures() {
    for_each_seed(200, history);
}
