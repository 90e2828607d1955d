//! The tables of the specification.

use super::*;
use crate::bson::{RawDocumentBuf, rawdoc};

const TIME: Timestamp = Timestamp {
    time: 7,
    increment: 1,
};
const GIVEN_TIME: Timestamp = Timestamp {
    time: 3,
    increment: 1,
};

fn id(token: &str) -> RawDocumentBuf {
    rawdoc! { "_data": token }
}

fn token(name: &str) -> Option<ResumeToken> {
    Some(ResumeToken::from(id(name)))
}

fn resume_after(name: &str) -> Start {
    Start {
        resume_after: token(name),
        ..Start::default()
    }
}

fn start_after(name: &str) -> Start {
    Start {
        start_after: token(name),
        ..Start::default()
    }
}

fn start_at(time: Timestamp) -> Start {
    Start {
        start_at_operation_time: Some(time),
        ..Start::default()
    }
}

/// A reply with an open cursor.
fn reply(is_empty: bool, post_batch: Option<&str>) -> Reply {
    Reply {
        is_open: true,
        is_empty,
        post_batch_resume_token: post_batch.and_then(token),
        operation_time: Some(TIME),
    }
}

fn aggregate(start: Start) -> Action {
    Action::Aggregate { start, pause: None }
}

fn opened(given: Start, first: Reply) -> ChangeStream {
    let mut stream = ChangeStream::new(given.clone());
    assert_eq!(stream.next_action(), aggregate(given));
    stream.replied(first);
    stream
}

fn server(code: i32, is_labeled: bool, wire_version: i32) -> Failure {
    Failure::Server {
        code,
        is_labeled,
        is_unstarted: false,
        wire_version,
    }
}

#[test]
fn a_stream_resumes_where_the_specification_says() {
    // Given, events of the first batch, its postBatchResumeToken, events delivered, resume point.
    type Case = (Start, usize, Option<&'static str>, usize, Start);
    let cases: [Case; 17] = [
        (Start::default(), 0, None, 0, start_at(TIME)),
        (Start::default(), 0, Some("p"), 0, resume_after("p")),
        (Start::default(), 2, None, 0, Start::default()),
        (Start::default(), 2, Some("p"), 1, resume_after("e1")),
        (Start::default(), 2, Some("p"), 2, resume_after("p")),
        (Start::default(), 2, None, 2, resume_after("e2")),
        (resume_after("r"), 0, None, 0, resume_after("r")),
        (resume_after("r"), 0, Some("p"), 0, resume_after("p")),
        (resume_after("r"), 1, None, 1, resume_after("e1")),
        (start_after("s"), 0, None, 0, start_after("s")),
        (start_after("s"), 0, Some("p"), 0, start_after("p")),
        (start_after("s"), 1, None, 0, start_after("s")),
        (start_after("s"), 1, None, 1, resume_after("e1")),
        (start_after("s"), 1, Some("p"), 1, resume_after("p")),
        (start_at(GIVEN_TIME), 0, None, 0, start_at(GIVEN_TIME)),
        (start_at(GIVEN_TIME), 0, Some("p"), 0, resume_after("p")),
        (start_at(GIVEN_TIME), 1, None, 1, resume_after("e1")),
    ];
    for (given, events, post_batch, delivered, expected) in cases {
        let mut stream = opened(given.clone(), reply(events == 0, post_batch));
        for number in 1..=delivered {
            let id = id(&format!("e{number}"));
            assert_eq!(stream.deliver(Some(&id), number == events), Ok(()));
        }
        assert_eq!(
            stream.resume_point(),
            expected,
            "{given:?} {events} {post_batch:?} {delivered}"
        );
    }
}

/// A stream with the position `p` whose getMore is running.
fn awaiting() -> ChangeStream {
    let mut stream = opened(Start::default(), reply(true, Some("p")));
    assert_eq!(stream.next_action(), Action::GetMore);
    stream
}

#[test]
fn a_getmore_resumes_after_the_failures_of_the_specification() {
    use CursorAfterFailure::{Forget, Kill};
    let cases = [
        (Failure::NoReply, true, Kill),
        (Failure::InvalidReply, true, Kill),
        (server(43, false, 25), true, Forget),
        (server(6, true, 9), true, Kill),
        (server(234, true, 25), true, Kill),
        (Failure::Timeout, false, Kill),
    ];
    for (failure, resumes, cursor) in cases {
        let mut stream = awaiting();
        assert_eq!(stream.failed(&failure), Failed { resumes, cursor }, "{failure:?}");
        assert_eq!(stream.next_action(), aggregate(resume_after("p")), "{failure:?}");
    }
    let before_4_4 = [
        6, 7, 63, 89, 91, 133, 150, 189, 234, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436,
    ];
    for code in before_4_4 {
        assert!(awaiting().failed(&server(code, false, 8)).resumes, "{code}");
    }
    let overloaded = Failure::Server {
        code: 462,
        is_labeled: false,
        is_unstarted: true,
        wire_version: 25,
    };
    let terminal = [
        Failure::Rejected,
        overloaded,
        server(286, false, 25),
        server(280, false, 25),
        server(234, false, 9),
        server(11601, true, 8),
        // Retryable reads have this code, but the server has not set the label.
        server(10107, false, 9),
        server(91, false, 25),
    ];
    for failure in terminal {
        let mut stream = awaiting();
        assert!(!stream.failed(&failure).resumes, "{failure:?}");
        assert_eq!(stream.next_action(), Action::End, "{failure:?}");
        assert!(!stream.is_alive());
    }
    assert_eq!(awaiting().failed(&overloaded).cursor, Kill, "it was not started");
}

#[test]
fn a_command_that_the_session_does_not_permit_is_reported_and_changes_nothing() {
    let mut stream = awaiting();
    let refused = Failed {
        resumes: false,
        cursor: CursorAfterFailure::Keep,
    };
    assert_eq!(stream.failed(&Failure::NotPermitted), refused);
    assert_eq!(stream.next_action(), Action::GetMore, "of the same cursor");
    stream.failed(&Failure::NoReply);
    for _ in 0..3 {
        assert_eq!(
            stream.next_action(),
            aggregate(resume_after("p")),
            "without a pause"
        );
        assert_eq!(stream.failed(&Failure::NotPermitted), refused);
        assert!(stream.is_alive());
    }
}

#[test]
fn invalid_replies_in_a_row_end_the_stream() {
    let mut stream = awaiting();
    let resume = |stream: &mut ChangeStream| {
        assert!(stream.failed(&Failure::InvalidReply).resumes);
        assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
        stream.replied(reply(true, Some("p")));
        assert_eq!(stream.next_action(), Action::GetMore);
    };
    for _ in 0..MAX_INVALID_REPLIES {
        resume(&mut stream);
    }
    // An empty batch is valid. Whether one with documents is, is known when they are read.
    stream.replied(reply(true, Some("p")));
    assert_eq!(stream.next_action(), Action::GetMore);
    for _ in 0..MAX_INVALID_REPLIES {
        stream.replied(reply(false, Some("p")));
        resume(&mut stream);
    }
    assert!(!stream.failed(&Failure::InvalidReply).resumes);
    assert_eq!(stream.next_action(), Action::End);
}

#[test]
fn resumes_can_follow_each_other_and_a_failed_one_is_reported() {
    let mut stream = opened(Start::default(), reply(true, Some("p")));
    let mut pauses = Vec::new();
    for _ in 0..9 {
        assert_eq!(stream.next_action(), Action::GetMore);
        assert!(stream.failed(&Failure::NoReply).resumes);
        match stream.next_action() {
            Action::Aggregate { start, pause } => {
                assert_eq!(start, resume_after("p"));
                pauses.push(pause.map_or(0, |pause| pause.as_millis()));
            }
            other => panic!("{other:?}"),
        }
        stream.replied(reply(true, Some("p")));
    }
    assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 320, 500, 500]);
    // The reply to a getMore resets the pause.
    assert_eq!(stream.next_action(), Action::GetMore);
    stream.replied(reply(true, Some("p")));
    stream.next_action();
    assert!(stream.failed(&Failure::NoReply).resumes);
    assert_eq!(stream.next_action(), aggregate(resume_after("p")));
    assert!(
        !stream.failed(&Failure::NoReply).resumes,
        "an aggregate is not resumable"
    );
    assert!(
        matches!(stream.next_action(), Action::Aggregate { .. }),
        "the next call tries again"
    );
    assert!(!stream.failed(&server(286, false, 25)).resumes);
    assert_eq!(stream.next_action(), Action::End);
}

#[test]
fn a_reply_that_never_arrived_is_read_again() {
    let mut stream = opened(Start::default(), reply(false, Some("p")));
    stream.deliver(Some(&id("e1")), false).expect("a token");
    stream.deliver(Some(&id("e2")), true).expect("a token");
    assert_eq!(stream.next_action(), Action::GetMore);
    assert_eq!(stream.next_action(), aggregate(resume_after("p")));
    assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
    stream.replied(reply(false, None));
    stream.deliver(Some(&id("e3")), true).expect("a token");
    assert_eq!(stream.resume_token(), token("e3"));
}

#[test]
fn the_token_of_an_empty_batch_is_cached() {
    let mut stream = opened(Start::default(), reply(true, None));
    assert_eq!(stream.resume_token(), None);
    stream.next_action();
    stream.replied(reply(true, Some("p1")));
    assert_eq!(stream.resume_token(), token("p1"));
    stream.next_action();
    stream.replied(reply(false, Some("p2")));
    assert_eq!(stream.resume_token(), token("p1"), "nothing was delivered");
    stream.deliver(Some(&id("e1")), false).expect("a token");
    assert_eq!(stream.resume_token(), token("e1"));
    stream.deliver(Some(&id("e2")), true).expect("a token");
    assert_eq!(stream.resume_token(), token("p2"));
}

#[test]
fn a_stream_ends_when_the_server_closes_the_cursor() {
    let mut stream = opened(Start::default(), reply(true, None));
    stream.next_action();
    stream.replied(Reply::default());
    assert!(!stream.is_alive());
    stream.deliver(Some(&id("e1")), true).expect("a token");
    assert_eq!(stream.next_action(), Action::End);
}

#[test]
fn a_document_without_a_token_ends_the_stream() {
    let mut stream = opened(Start::default(), reply(false, Some("p")));
    assert_eq!(stream.deliver(None, false), Err(MissingToken));
    assert_eq!(stream.next_action(), Action::End);
}

/// Each call waits for its whole time limit.
#[test]
fn timeouts_do_not_lengthen_the_pause_before_a_resume() {
    let mut stream = opened(Start::default(), reply(true, None));
    stream.next_action();
    stream.failed(&Failure::Timeout);
    for _ in 0..20 {
        let Action::Aggregate { pause, .. } = stream.next_action() else {
            panic!("a resume");
        };
        assert_eq!(pause, None);
        stream.failed(&Failure::Timeout);
        assert!(stream.is_alive());
    }
    for _ in 0..20 {
        let Action::Aggregate { pause, .. } = stream.next_action() else {
            panic!("a resume");
        };
        assert_eq!(pause, None);
        stream.replied(reply(true, None));
        assert_eq!(stream.next_action(), Action::GetMore);
        stream.failed(&Failure::Timeout);
    }
}

#[test]
fn keys_that_cannot_be_read_are_reported_and_the_stream_resumes() {
    let mut stream = awaiting();
    for _ in 0..2 {
        for _ in 0..MAX_INVALID_REPLIES {
            let failed = stream.failed(&Failure::KeysUnavailable);
            assert!(failed.resumes && failed.cursor == CursorAfterFailure::Kill);
            assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
            stream.replied(reply(true, Some("p")));
            assert_eq!(stream.next_action(), Action::GetMore);
        }
        assert!(!stream.failed(&Failure::KeysUnavailable).resumes);
        assert!(stream.is_alive());
        assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
        stream.replied(reply(true, Some("p")));
        assert_eq!(stream.next_action(), Action::GetMore);
    }
}

/// A resume returns the event in the first batch of its aggregate.
#[test]
fn keys_that_cannot_be_read_for_a_first_batch_are_requested_again() {
    let mut stream = awaiting();
    assert!(stream.failed(&Failure::KeysUnavailable).resumes);
    let mut failures = 1;
    for reported in [MAX_INVALID_REPLIES + 1, 2 * (MAX_INVALID_REPLIES + 1)] {
        loop {
            assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
            failures += 1;
            if !stream.failed(&Failure::KeysUnavailable).resumes {
                break;
            }
        }
        assert_eq!(failures, reported);
        assert!(stream.is_alive());
    }
    // The count begins again with an event.
    assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
    assert!(stream.failed(&Failure::KeysUnavailable).resumes);
    assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
    stream.replied(reply(false, Some("p")));
    stream.deliver(Some(&id("a")), true).unwrap();
    for _ in 0..MAX_INVALID_REPLIES {
        assert!(matches!(
            stream.next_action(),
            Action::GetMore | Action::Aggregate { .. }
        ));
        assert!(stream.failed(&Failure::KeysUnavailable).resumes);
    }
}

#[test]
fn keys_that_cannot_be_read_for_the_first_aggregate_are_reported() {
    let mut stream = ChangeStream::new(Start::default());
    assert!(matches!(stream.next_action(), Action::Aggregate { .. }));
    assert!(!stream.failed(&Failure::KeysUnavailable).resumes);
}
