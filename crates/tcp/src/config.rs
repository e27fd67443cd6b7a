//! How the values of [`options::PARAMS`](crate::options::PARAMS) become fields of [`TcpConfig`](crate::TcpConfig).

use crate::congestion;
use crate::ecn::EcnKind;
use crate::window_sizing;
use longfat_core::params::{Choice, Kind, Value};
use longfat_core::time::Duration;

/// A field that a parameter fills.
pub(crate) trait Parameter {
    /// Reads a value that `kind` allows.
    fn of(value: Value, kind: Kind) -> Self;
    /// The opposite, for a parameter of `kind` and `default`.
    fn value(&self, kind: Kind, default: Value) -> Value;
}

/// Choices by name, each with the word that an experiment file has for it.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            /// The words of an experiment file.
            pub const NAMES: &'static [&'static str] = &[$($word),*];
        }

        impl Parameter for $name {
            fn of(value: Value, _kind: Kind) -> Self {
                match value {
                    $(Value::Choice($word) => $name::$variant,)*
                    other => panic!("{} cannot be {other:?}", stringify!($name)),
                }
            }

            fn value(&self, _kind: Kind, _default: Value) -> Value {
                Value::Choice(match self {
                    $($name::$variant => $word,)*
                })
            }
        }
    };
}

named! {
    /// Methods of loss repair.
    RecoveryKind {
        /// Slow start after every loss (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast recovery that ends at the first new ACK (RFC 2581).
        Reno = "reno",
        /// Fast recovery through partial ACKs (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgments (RFC 6675).
        Sack = "sack",
        /// Forward acknowledgment: all below the highest SACK that has none is lost (Mathis and Mahdavi 1996).
        Fack = "fack",
        /// Selective acknowledgments and time (RFC 8985).
        Rack = "rack",
    }
}

impl RecoveryKind {
    /// Returns true if SACKs steer it.
    #[inline]
    pub fn is_selective(self) -> bool {
        matches!(self, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Rack)
    }
}

named! {
    /// Use of TCP Fast Open (RFC 7413), by what the client remembers of the server, and what becomes of that there.
    FastOpen {
        /// Neither asked for nor answered.
        Off = "off",
        /// The client remembers nothing, and asks for a cookie.
        Request = "request",
        /// The client has a cookie.
        Cached = "cached",
        /// The client has a cookie of a key that the server has changed since.
        Stale = "stale",
        /// The client has a cookie, and the server as many pending requests as it allows.
        Full = "full",
    }
}

named! {
    /// Ways in which an application gives the kernel its data.
    SendBy {
        /// Copied from its memory.
        Copy = "copy",
        /// From a file.
        Sendfile = "sendfile",
        /// From its memory, which the kernel reads itself.
        Zerocopy = "zerocopy",
    }
}

named! {
    /// Ways in which an application takes its data from the kernel.
    ReceiveBy {
        /// Thrown away in the kernel.
        Truncate = "truncate",
        /// Copied into its memory.
        Copy = "copy",
    }
}

named! {
    /// Time at which an ACK goes that need not go at once.
    DelayedAck {
        /// At once.
        Off = "off",
        /// `delayed_ack_time` after the first unacknowledged segment.
        Timer = "timer",
        /// At the next tick of a free-running clock (BSD's fast timer).
        Heartbeat = "heartbeat",
        /// From `delayed_ack_time` up to 200 ms, by the gaps between segments and the round trip (measured on Linux).
        Adaptive = "adaptive",
    }
}

named! {
    /// The part of the rto that `rto_min` bounds.
    RtoMinOf {
        /// All of it (RFC 6298).
        Rto = "rto",
        /// The part that is added to srtt.
        Variance = "variance",
    }
}

named! {
    /// Handling of a congestion window that is not used.
    CwndValidation {
        /// The window is kept.
        Off = "off",
        /// The initial window after an idle rto (RFC 5681 §4.1).
        Rfc5681 = "rfc5681",
        /// Decays while it is not used (RFC 2861).
        Rfc2861 = "rfc2861",
        /// Kept, and validated by use (RFC 7661).
        Rfc7661 = "rfc7661",
    }
}

named! {
    /// Contents of a probe of a closed window.
    WindowProbe {
        /// One byte of new data (RFC 9293 §3.8.6.1).
        Byte = "byte",
        /// No data.
        Empty = "empty",
    }
}

named! {
    /// Controls whose segments are paced.
    Pacing {
        /// Controls that have a rate.
        Auto = "auto",
        /// Also window-based controls.
        On = "on",
        /// No control: segments leave in bursts.
        Off = "off",
    }
}

/// Reads and gives back a value of one variant.
macro_rules! plain {
    ($type:ty, $variant:ident) => {
        impl Parameter for $type {
            fn of(value: Value, _kind: Kind) -> Self {
                match value {
                    Value::$variant(value) => value,
                    other => panic!("{other:?} is no {}", stringify!($type)),
                }
            }

            fn value(&self, _kind: Kind, _default: Value) -> Value {
                Value::$variant(*self)
            }
        }
    };
}

plain!(bool, Bool);
plain!(Duration, Duration);
plain!(&'static str, Choice);

/// "auto" is 0.
impl Parameter for u32 {
    fn of(value: Value, kind: Kind) -> Self {
        if value == Value::Auto { 0 } else { u64::of(value, kind) as u32 }
    }

    fn value(&self, kind: Kind, default: Value) -> Value {
        if *self == 0 && default == Value::Auto { Value::Auto } else { u64::from(*self).value(kind, default) }
    }
}

/// "auto" is `u64::MAX`.
impl Parameter for u64 {
    fn of(value: Value, _kind: Kind) -> Self {
        match value {
            Value::Auto => u64::MAX,
            Value::Bytes(n) | Value::Count(n) => n,
            other => panic!("{other:?} is no integer"),
        }
    }

    fn value(&self, kind: Kind, default: Value) -> Value {
        match kind {
            _ if *self == u64::MAX && default == Value::Auto => Value::Auto,
            Kind::Bytes { .. } => Value::Bytes(*self),
            _ => Value::Count(*self),
        }
    }
}

impl<T: Parameter> Parameter for Option<T> {
    fn of(value: Value, kind: Kind) -> Self {
        (value != Value::Auto).then(|| T::of(value, kind))
    }

    fn value(&self, kind: Kind, default: Value) -> Value {
        self.as_ref().map_or(Value::Auto, |value| value.value(kind, default))
    }
}

/// A congestion control or a window sizing, with the defaults of its own parameters.
impl Parameter for Choice {
    fn of(value: Value, kind: Kind) -> Self {
        match value {
            Value::Choice(name) if kind == Kind::Choice(window_sizing::NAMES) => window_sizing::choice(name),
            Value::Choice(name) => congestion::choice(name),
            other => panic!("{other:?} is no name"),
        }
    }

    fn value(&self, _kind: Kind, _default: Value) -> Value {
        Value::Choice(self.kind)
    }
}

/// "auto" is what the control needs: [`options::ecn`](crate::options::ecn).
impl Parameter for EcnKind {
    fn of(value: Value, _kind: Kind) -> Self {
        if let Value::Choice(name) = value { EcnKind::named(name) } else { EcnKind::Off }
    }

    fn value(&self, _kind: Kind, _default: Value) -> Value {
        Value::Choice(self.name())
    }
}
