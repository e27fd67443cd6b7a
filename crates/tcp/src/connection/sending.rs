//! The sending half, which is there only where there is something to send.
//!
//! Most connections have one end that only receives, and a sender with its congestion control is by far the larger half. An end that has
//! nothing to send has no sender. The sender is made when the application first writes, closes or sets something of it, or when the
//! handshake needs one. It has missed little by then, and that is kept here: the windows that the other side told of, its ECN marks, and
//! what the SYNs agreed on.

use super::{Connection, Handshake};
use crate::TcpConfig;
use crate::ecn::Feedback;
use crate::peer_window::PeerWindow;
use crate::sender::{Room, Sender};
use crate::seq::unwrap;
use crate::window_sizing;
use longfat_core::packet::Segment;
use longfat_core::time::Time;

#[derive(Debug)]
pub(super) enum Sending {
    Silent(Silent),
    Active(Box<Sender>),
}

/// State kept for a sender that does not exist yet.
#[derive(Debug)]
pub(super) struct Silent {
    peer: PeerWindow,
    /// Size that the send buffer would have with memory enough, and the memory that there is for it.
    pub wanted_buffer: u64,
    pub memory: u64,
    /// Room for another segment on the host's interface.
    pub room: Room,
    /// ECN feedback, where ECN was agreed on.
    ecn: Option<Box<Feedback>>,
}

impl Silent {
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.ecn.is_none()
    }

    /// Takes in the ACK side of a plain segment, if it acknowledges the SYN alone. Returns true if it does.
    #[inline]
    pub(super) fn handle_plain_ack(&mut self, iss: u32, segment: &Segment) -> bool {
        let is_plain = segment.ack == iss.wrapping_add(1);
        if is_plain {
            self.peer.update(segment, 1);
        }
        is_plain
    }

    /// Takes in the ACK side of a segment that SACKs nothing, where segments are of at most `mss`. Whether it is refused: nothing but the
    /// SYN was sent, and is acknowledged. (As [`Sender::handle_ack`] has it.)
    #[inline]
    fn handle_ack(&mut self, iss: u32, segment: &Segment, mss: u32) -> bool {
        let ack = unwrap(iss, 1, segment.ack);
        if ack == 1 {
            self.peer.update(segment, ack);
            if let Some(ecn) = &mut self.ecn {
                // No window is there to be reduced for these marks.
                ecn.take(segment, 0, mss.into());
            }
        }
        ack > 1 || ack.saturating_add(self.peer.max()) < 1
    }
}

impl Sending {
    /// Returns the state in which nobody has said anything.
    pub(super) fn silent(config: &TcpConfig) -> Self {
        let (peer, wanted_buffer) = (PeerWindow::default(), window_sizing::send_buffer(config));
        Sending::Silent(Silent { peer, wanted_buffer, memory: u64::MAX, room: Room::Yes, ecn: None })
    }

    /// Returns the ECN feedback of the ACKs, where ECN was agreed on.
    pub(super) fn ecn(&self) -> Option<&Feedback> {
        match self {
            Sending::Active(sender) => Some(&sender.ecn).filter(|ecn| ecn.is_on()),
            Sending::Silent(silent) => silent.ecn.as_deref(),
        }
    }

    #[inline]
    pub(super) fn sender(&self) -> Option<&Sender> {
        match self {
            Sending::Active(sender) => Some(sender),
            Sending::Silent(_) => None,
        }
    }

    #[inline]
    pub(super) fn sender_mut(&mut self) -> Option<&mut Sender> {
        match self {
            Sending::Active(sender) => Some(sender),
            Sending::Silent(_) => None,
        }
    }
}

impl Connection {
    /// The sender; if there is none, one is made.
    #[inline]
    pub(super) fn sender(&mut self) -> &mut Sender {
        if let Sending::Silent(silent) = &self.sending {
            self.sending = Sending::Active(Box::new(self.new_sender(silent)));
        }
        self.sending.sender_mut().expect("it is there now")
    }

    /// Returns the sender for the application, which has something to say to it: from now on there is one.
    pub(super) fn outlet(&mut self) -> &mut Sender {
        self.speaks = true;
        self.sender()
    }

    /// Applies `of` to the sender, or to the one that would be made.
    pub(super) fn ask_sender<T>(&self, of: impl FnOnce(&Sender) -> T) -> T {
        match &self.sending {
            Sending::Active(sender) => of(sender),
            Sending::Silent(silent) => of(&self.new_sender(silent)),
        }
    }

    /// Creates a sender that has sent nothing but its SYN, if that: as the handshake would have left it.
    #[cold]
    fn new_sender(&self, silent: &Silent) -> Sender {
        let mut sender = Sender::new(&self.config, self.iss, self.phase);
        if self.is_established() {
            let Handshake { done, mss, syn_window, first_window, .. } = self.handshake;
            sender.agree(&self.config, mss, self.receiver.sacks(), PeerWindow::new(0, syn_window.into(), 0));
            sender.syn_sent();
            sender.establish(&self.config, done, self.handshake.rtt(), self.timestamps.is_some());
            sender.heed_first_window(&self.config, first_window);
            sender.peer = silent.peer;
            if let Some(ecn) = &silent.ecn {
                sender.ecn = Feedback::clone(ecn);
            }
            // The ACKs would have noted the same.
            sender.check_app_limited();
        }
        sender.buffer.set_memory(silent.memory);
        sender.host.room = silent.room;
        sender
    }

    /// The handshake is done: a sender that was made for it alone goes.
    pub(super) fn rest(&mut self) {
        if let Sending::Active(sender) = &self.sending
            && !self.speaks
        {
            let ecn = sender.ecn.is_on().then(|| Box::new(sender.ecn.clone()));
            let (peer, room) = (sender.peer, sender.host.room);
            self.sending =
                Sending::Silent(Silent { peer, wanted_buffer: sender.buffer.wanted(), memory: sender.buffer.memory(), room, ecn });
        }
    }

    /// Takes in the ACK side of a segment. Whether it is refused.
    #[inline]
    pub(super) fn handle_ack(&mut self, now: Time, segment: &Segment) -> bool {
        match &mut self.sending {
            Sending::Silent(silent) if segment.sack_count() == 0 => silent.handle_ack(self.iss, segment, self.handshake.mss),
            _ => self.sender().handle_ack(now, segment),
        }
    }
}
