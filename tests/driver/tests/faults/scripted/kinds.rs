//! The kinds of faults, and the exchanges they apply to.

use marula_driver_tests::proxy::{Action, Exchange, Place};

/// splitmix64
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// How servers are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Stream,
    Poll,
    /// Not at all: there is a load balancer.
    Unmonitored,
}

impl Mode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Poll => "poll",
            Self::Unmonitored => "auto",
        }
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The connection is closed as soon as it is accepted.
    Refuse,
    /// The connection is accepted, and no request is answered.
    Ignore,
    /// The request is executed, and there is no reply.
    Hang,
    /// There is no reply, and the request is executed after the client has given up, perhaps after it was sent again.
    LateRequest,
    /// The request is not passed on, and the connection ends.
    LoseRequest,
    /// A part of the request is passed on, and the connection ends.
    CutRequest,
    /// The request is executed, and the connection ends.
    LoseReply,
    /// A part of the reply arrives, and the connection ends.
    CutReply,
    /// The reply comes late, perhaps after the client's patience.
    Delay,
    /// A bit of the message's header or flags is flipped.
    GarbleHeader,
    /// A bit of what holds the reply's document together is flipped.
    GarbleBody,
    /// The reply arrives, then the end of the stream, and requests are swallowed.
    HalfClose,
    /// The request is executed, and the connection is reset.
    Reset,
}

/// Whom it hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A socket before anything was said.
    Connect,
    /// The first hello of a monitor, or of the connection that measures round trips.
    MonitorHello,
    /// A later hello of a monitor that polls.
    MonitorPoll,
    /// A hello that is answered when there is news, and each further answer.
    MonitorStream,
    /// A later hello that measures a round trip.
    RoundTrip,
    /// The hello of a connection for operations.
    PoolHello,
    SaslStart,
    SaslContinue,
    Command,
    GetMore,
    KillCursors,
}

/// What can be done to an exchange.
const OF_EXCHANGES: [Kind; 11] = [
    Kind::Hang,
    Kind::LateRequest,
    Kind::LoseRequest,
    Kind::CutRequest,
    Kind::LoseReply,
    Kind::CutReply,
    Kind::Delay,
    Kind::GarbleHeader,
    Kind::GarbleBody,
    Kind::HalfClose,
    Kind::Reset,
];

/// Header and flags.
const HEADER: usize = 20;
/// The section's kind, the document's length and the type of its first element. The document's last byte is part of the
/// structure, too; what is between is data, which nothing protects.
const STRUCTURE: usize = 6;

fn flip(at: Place, random: &mut Random) -> Action {
    let mask = 1 << random.below(8);
    Action::Corrupt { at, mask }
}

impl Kind {
    /// What a proxy is to do. [`Refuse`](Self::Refuse) and [`Ignore`](Self::Ignore) concern no exchange.
    pub(crate) fn action(self, random: &mut Random) -> Action {
        match self {
            Self::Refuse | Self::Ignore | Self::Hang => Action::Silence,
            Self::LateRequest => Action::ForwardLate,
            Self::LoseRequest => Action::DropRequest,
            Self::CutRequest => Action::CutRequestAfter(1 + random.below(300)),
            Self::LoseReply => Action::CutAfter(0),
            Self::CutReply => Action::CutAfter(1 + random.below(400)),
            Self::Delay => Action::Delay,
            Self::GarbleHeader => flip(Place::FromStart(random.below(HEADER)), random),
            Self::GarbleBody => match random.below(STRUCTURE + 1) {
                STRUCTURE => flip(Place::Last, random),
                at => flip(Place::FromStart(HEADER + at), random),
            },
            Self::HalfClose => Action::HalfClose,
            Self::Reset => Action::Reset,
        }
    }
}

impl Target {
    /// All that there are in this mode.
    pub(crate) fn all(mode: Mode) -> Vec<Self> {
        let mut all = vec![
            Self::Connect,
            Self::PoolHello,
            Self::SaslStart,
            Self::SaslContinue,
            Self::Command,
            Self::GetMore,
            Self::KillCursors,
        ];
        match mode {
            Mode::Stream => all.extend([Self::MonitorHello, Self::MonitorStream, Self::RoundTrip]),
            Mode::Poll => all.extend([Self::MonitorHello, Self::MonitorPoll]),
            Mode::Unmonitored => {}
        }
        all
    }

    /// What an exchange is, unless it belongs to the end of a client.
    pub(crate) fn of(exchange: &Exchange<'_>, mode: Mode) -> Option<Self> {
        Some(match exchange.command {
            _ if exchange.is_hello() => match mode {
                _ if exchange.is_login() => Self::PoolHello,
                Mode::Stream | Mode::Poll if exchange.is_first => Self::MonitorHello,
                Mode::Stream if exchange.mentions("maxAwaitTimeMS") => Self::MonitorStream,
                Mode::Stream => Self::RoundTrip,
                Mode::Poll => Self::MonitorPoll,
                // Every hello belongs to a login.
                Mode::Unmonitored => return None,
            },
            "saslStart" => Self::SaslStart,
            "saslContinue" => Self::SaslContinue,
            "getMore" => Self::GetMore,
            "killCursors" => Self::KillCursors,
            "endSessions" => return None,
            _ => Self::Command,
        })
    }

    pub(crate) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Connect => &[Kind::Refuse, Kind::Ignore],
            _ => &OF_EXCHANGES,
        }
    }

    /// How often each kind happens to it in one run.
    pub(crate) fn repetitions(self) -> usize {
        match self {
            Self::Command => 6,
            Self::Connect => 4,
            Self::PoolHello | Self::GetMore | Self::KillCursors => 2,
            _ => 1,
        }
    }

    /// Whether it is a part of operations, of which there are always more.
    pub(crate) fn is_operation(self) -> bool {
        matches!(self, Self::Command | Self::GetMore | Self::KillCursors)
    }

    /// Whether it happens by itself, at most so often: no fault must come before for it to happen.
    pub(crate) fn is_regular(self) -> bool {
        matches!(self, Self::MonitorPoll | Self::MonitorStream | Self::RoundTrip)
    }
}
