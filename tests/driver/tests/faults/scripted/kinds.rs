//! The kinds of faults, and the exchanges they apply to.

use marula_driver_tests::proxy::{Action, Exchange, Place};

/// The pseudorandom number generator SplitMix64, seeded with its state.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number from 0 to `bound`, `bound` excluded.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// How servers are monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Stream,
    Poll,
    /// No monitoring, because of a load balancer.
    Unmonitored,
}

impl Mode {
    /// The value of `serverMonitoringMode`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Poll => "poll",
            Self::Unmonitored => "auto",
        }
    }
}

/// What the tasks do, which determines the commands that faults apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Reads and writes outside of transactions.
    Operations,
    Transactions,
    ChangeStreams,
}

impl Load {
    /// The minimum number of faults in a burst. Large bursts save time: the client checks a failed
    /// server after half a second.
    pub(crate) fn least_burst(self) -> usize {
        match self {
            Self::Operations => 1,
            Self::Transactions | Self::ChangeStreams => 6,
        }
    }
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The connection is closed as soon as it is accepted.
    Refuse,
    /// The connection is accepted, and no request is answered.
    Ignore,
    /// The request is executed, and no reply is sent.
    Hang,
    /// No reply is sent, and the request is executed after the client has closed the connection,
    /// possibly after the retry.
    LateRequest,
    /// The request is not forwarded, and the connection is closed.
    LoseRequest,
    /// A part of the request is forwarded, and the connection is closed.
    CutRequest,
    /// The request is executed, and the connection is closed.
    LoseReply,
    /// A part of the reply is sent, and the connection is closed.
    CutReply,
    /// The reply is delayed, possibly longer than the timeout of the client.
    Delay,
    /// A bit of the header or the flags of the reply is inverted.
    CorruptHeader,
    /// A bit of the structure of the reply document is inverted.
    CorruptBody,
    /// The reply is sent, then the end of the stream. Further requests are executed, and no reply
    /// is sent.
    HalfClose,
    /// The request is executed, and the connection is reset.
    Reset,
}

/// What a fault applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A connection before its first byte.
    Connect,
    /// The first hello of a monitor, or of an RTT connection.
    MonitorHello,
    /// A later hello of a polling monitor.
    MonitorPoll,
    /// An awaitable hello, and each further reply to it.
    MonitorStream,
    /// A later hello of an RTT connection.
    RoundTrip,
    /// The hello of a pooled connection.
    PoolHello,
    SaslStart,
    SaslContinue,
    Command,
    GetMore,
    KillCursors,
    CommitTransaction,
    AbortTransaction,
}

/// The kinds of faults that apply to exchanges.
const EXCHANGE_KINDS: [Kind; 11] = [
    Kind::Hang,
    Kind::LateRequest,
    Kind::LoseRequest,
    Kind::CutRequest,
    Kind::LoseReply,
    Kind::CutReply,
    Kind::Delay,
    Kind::CorruptHeader,
    Kind::CorruptBody,
    Kind::HalfClose,
    Kind::Reset,
];

/// The size of the header and the flags of OP_MSG, in bytes.
const HEADER: usize = 20;
/// The number of bytes after them whose corruption the driver must detect: the kind of the section,
/// the length of the document and the type of its first element. The last byte of the document is
/// the seventh. The bytes between are data without a checksum.
const STRUCTURE: usize = 6;

/// Inverts a random bit of the byte.
fn flip(at: Place, random: &mut Random) -> Action {
    let mask = 1 << random.below(8);
    Action::Corrupt { at, mask }
}

impl Kind {
    /// The action of the proxy in an exchange. Not called for [`Refuse`](Self::Refuse) and
    /// [`Ignore`](Self::Ignore), which apply to connections.
    pub(crate) fn action(self, random: &mut Random) -> Action {
        match self {
            Self::Refuse | Self::Ignore | Self::Hang => Action::Silence,
            Self::LateRequest => Action::ForwardLate,
            Self::LoseRequest => Action::DropRequest,
            Self::CutRequest => Action::CutRequestAfter(1 + random.below(300)),
            Self::LoseReply => Action::CutAfter(0),
            Self::CutReply => Action::CutAfter(1 + random.below(400)),
            Self::Delay => Action::Delay,
            Self::CorruptHeader => flip(Place::FromStart(random.below(HEADER)), random),
            Self::CorruptBody => match random.below(STRUCTURE + 1) {
                STRUCTURE => flip(Place::Last, random),
                at => flip(Place::FromStart(HEADER + at), random),
            },
            Self::HalfClose => Action::HalfClose,
            Self::Reset => Action::Reset,
        }
    }
}

impl Target {
    /// All targets in this mode with this load. Each fault of a handshake takes half a second, the
    /// pause between two checks: with transactions and change streams, there are fewer.
    pub(crate) fn all(mode: Mode, load: Load) -> Vec<Self> {
        let mut all = vec![
            Self::Connect,
            Self::PoolHello,
            Self::SaslContinue,
            Self::Command,
            Self::GetMore,
        ];
        match load {
            Load::Operations => all.extend([Self::SaslStart, Self::KillCursors]),
            Load::ChangeStreams => all.push(Self::KillCursors),
            // The server closes the cursors of a transaction.
            Load::Transactions => all.extend([Self::CommitTransaction, Self::AbortTransaction]),
        }
        match mode {
            Mode::Stream => all.extend([Self::MonitorStream, Self::RoundTrip]),
            Mode::Poll => all.push(Self::MonitorPoll),
            Mode::Unmonitored => {}
        }
        if load == Load::Operations && mode != Mode::Unmonitored {
            all.push(Self::MonitorHello);
        }
        all
    }

    /// The target that an exchange belongs to. `None` if no fault applies to it.
    pub(crate) fn of(exchange: &Exchange<'_>, mode: Mode) -> Option<Self> {
        Some(match exchange.command {
            _ if exchange.is_hello() => match mode {
                _ if exchange.is_login() => Self::PoolHello,
                Mode::Stream | Mode::Poll if exchange.is_first => Self::MonitorHello,
                Mode::Stream if exchange.mentions("maxAwaitTimeMS") => Self::MonitorStream,
                Mode::Stream => Self::RoundTrip,
                Mode::Poll => Self::MonitorPoll,
                // Without monitoring every hello belongs to an authentication.
                Mode::Unmonitored => return None,
            },
            "saslStart" => Self::SaslStart,
            "saslContinue" => Self::SaslContinue,
            "getMore" => Self::GetMore,
            "killCursors" => Self::KillCursors,
            "commitTransaction" => Self::CommitTransaction,
            "abortTransaction" => Self::AbortTransaction,
            // Sent by the shutdown of the client, after the script.
            "endSessions" => return None,
            _ => Self::Command,
        })
    }

    /// The kinds of faults that apply to this target.
    pub(crate) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Connect => &[Kind::Refuse, Kind::Ignore],
            _ => &EXCHANGE_KINDS,
        }
    }

    /// How often each kind applies to this target in one run with this load.
    pub(crate) fn repetitions(self, load: Load) -> usize {
        match (self, load) {
            (Self::GetMore, Load::ChangeStreams) => 8,
            (Self::Command | Self::CommitTransaction, _) => 6,
            (Self::Connect, _) => 4,
            (Self::AbortTransaction, _) => 3,
            (Self::PoolHello | Self::GetMore | Self::KillCursors, _) => 2,
            _ => 1,
        }
    }

    /// Whether this is a part of an operation. The tasks run operations until the script has ended.
    pub(crate) fn is_operation(self) -> bool {
        matches!(
            self,
            Self::Command
                | Self::GetMore
                | Self::KillCursors
                | Self::CommitTransaction
                | Self::AbortTransaction
        )
    }

    /// Whether exchanges of this target occur periodically. Those of the other targets that are no
    /// operations occur only after a fault.
    pub(crate) fn is_regular(self) -> bool {
        matches!(self, Self::MonitorPoll | Self::MonitorStream | Self::RoundTrip)
    }
}
