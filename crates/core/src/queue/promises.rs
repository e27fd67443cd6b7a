//! Claims of queues about an overload: four flows of TCP, two of Reno and two of CUBIC, that all send as much as they can, or one that does not
//! slow down beside one that does.

use std::fmt;

use crate::time::Duration;

/// Claim about whole runs over a path of 20 Mbit/s and 40 ms.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Claim {
    /// Packets of the four flows wait from `least` to `most` on average, and the link stays busy.
    Waits {
        /// Least mean wait.
        least: Duration,
        /// Most.
        most: Duration,
    },
    /// The queue of the four flows holds from `least` to `most` packets on average, and the link stays busy.
    Holds {
        /// Least mean queue in packets.
        least: u64,
        /// Most.
        most: u64,
    },
    /// The four flows fill the queue up to so many packets, and no further.
    Fills(u64),
    /// The four flows, with ECN, are marked, and once they have begun not dropped; the link stays busy.
    Marks,
    /// One CUBIC flow beside packets at the rate of the whole link, which do not slow down, gets half of the link, to within a fifth of that.
    Isolates,
    /// A flow of half of the link, in the class EF, beside the four flows loses nothing.
    Prefers,
    /// A flow of CUBIC in class AF11 gets more than one in AF13, whose packets are dropped first.
    Protects,
    /// The four flows together get the half of the link that `rate` allows, to within a tenth.
    Shapes,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        match *self {
            Claim::Waits { least, most } => write!(f, "packets wait {} to {} ms on average", ms(least), ms(most)),
            Claim::Holds { least, most } => write!(f, "holds {least} to {most} packets on average"),
            Claim::Fills(packets) => write!(f, "fills up to {packets} packets, and no further"),
            Claim::Marks => write!(f, "marks ECN-capable packets, and drops none"),
            Claim::Isolates => write!(f, "a flow that does not slow down leaves half of the link to another"),
            Claim::Prefers => write!(f, "packets of class EF are not lost, whatever others send"),
            Claim::Protects => write!(f, "a flow of class AF11 gets more than one of AF13"),
            Claim::Shapes => write!(f, "passes on what `rate` allows"),
        }
    }
}
