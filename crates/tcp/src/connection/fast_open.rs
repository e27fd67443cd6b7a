//! TCP Fast Open (RFC 7413): data that goes with the SYN, for a client that shows the server's cookie.
//!
//! The RFC's text was written down from memory, its errata 4238 and 4239 read: an option without a cookie has a length of two.

use super::{Connection, Rare, State};
use crate::config::FastOpen;
use longfat_core::packet::{Cookie, Ecn, Segment, flags};
use longfat_core::time::Time;

/// State of an end that knows Fast Open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener {
    /// Client: the cookie that it remembers of the server, if any. Server: the cookie that its key makes for this client.
    cookie: Option<Cookie>,
    /// Client: the MSS option that it remembers of the server (§4.1.3).
    mss: u16,
    /// Server: the cookie that the SYN-ACK brings. Client: the cookie that it brought.
    granted: Option<Cookie>,
    /// The first SYN had the option.
    asked: bool,
    /// The SYN timed out, so it goes without option and data from then on.
    timed_out: bool,
    /// Payload that went with the SYN.
    sent: u16,
    /// Payload of a SYN or SYN-ACK that was taken, here or by the other side.
    taken: u16,
}

/// RFC 9293 §3.7.1: the segment that every IPv4 host takes, with which a client begins that remembers no MSS (RFC 7413 §4.2.2).
const DEFAULT_MSS: u16 = 536;

/// Report on the Fast Open of a connection: what a client remembers for the next one (RFC 7413 §4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FastOpened {
    /// Cookie that the server has granted.
    pub cookie: Option<Cookie>,
    /// Payload bytes that went with the SYN.
    pub sent: u16,
    /// Payload bytes of a SYN that the other side took, or at a server, that were taken.
    pub taken: u16,
    /// True if the server did not take the data, or the SYN timed out: the next connection had better not try it for a while (§4.1.3.1).
    pub is_negative: bool,
}

impl Opener {
    /// State of an end that remembers nothing.
    pub(super) const NONE: Self =
        Opener { cookie: None, mss: DEFAULT_MSS, granted: None, asked: false, timed_out: false, sent: 0, taken: 0 };

    /// §4.1.3.1: nothing answered the SYN with the option, or its data was not taken. A new cookie is no such answer.
    fn is_negative(&self, established: bool) -> bool {
        let was_lost = self.timed_out && self.taken == 0;
        self.asked && self.granted.is_none() && (was_lost || (established && self.taken < self.sent))
    }
}

/// State of Fast Open among what few connections need.
fn opened(rare: &mut Option<Box<Rare>>) -> Option<&mut Opener> {
    rare.as_mut()?.opener.as_mut()
}

impl Connection {
    /// Returns the state of Fast Open, where it is on.
    fn opener(&self) -> Option<&Opener> {
        self.rare.as_ref()?.opener.as_ref()
    }

    /// Returns true if Fast Open is on.
    pub(super) fn knows_fast_open(&self) -> bool {
        self.opener().is_some()
    }

    /// Gives the cookie that the server's key makes for this client: at the client, as it remembers it, with the server's MSS option
    /// (RFC 7413 §4.1.2, §4.1.3). Without effect where Fast Open is off.
    pub fn set_cookie(&mut self, cookie: Cookie, mss: u16) {
        if let Some(opener) = opened(&mut self.rare) {
            (opener.cookie, opener.mss) = (Some(cookie), mss);
        }
    }

    /// Returns the outcome of Fast Open, where it is on.
    pub fn fast_opened(&self) -> Option<FastOpened> {
        self.opener().map(|opener| FastOpened {
            cookie: opener.granted,
            sent: opener.sent,
            taken: opener.taken,
            is_negative: opener.is_negative(self.is_established()),
        })
    }

    /// Returns true if data came with the SYN and was taken: the application may answer before the handshake is done.
    pub fn opened_fast(&self) -> bool {
        self.passive && self.opener().is_some_and(|opener| opener.taken > 0)
    }

    /// Returns the payload that went with the SYN, and that the other side may acknowledge with it.
    pub(super) fn sent_with_syn(&self) -> u32 {
        self.opener().map_or(0, |opener| opener.sent.into())
    }

    /// Returns true if `ack` acknowledges our SYN, and nothing that was not sent.
    pub(super) fn acknowledges_syn(&self, ack: u32) -> bool {
        let most = self.sent_until() + u64::from(self.sent_with_syn());
        (1..=most).contains(&ack.wrapping_sub(self.iss).into())
    }

    /// Adds option and data to the first SYN (RFC 7413 §4.2.1, §4.2.2). A SYN that is retransmitted has neither (§4.2.2): it may be what
    /// the path drops.
    pub(super) fn ask_fast_open(&mut self, first: bool, segment: &mut Segment) {
        let Some(opener) = opened(&mut self.rare) else { return };
        if !first {
            opener.timed_out = true;
            return;
        }
        let cookie = opener.cookie.filter(|_| self.config.fast_open != FastOpen::Request).unwrap_or(Cookie::REQUEST);
        if !segment.set_fast_open(cookie) {
            return;
        }
        opener.asked = true;
        if cookie.is_request() {
            return;
        }
        // §4.2.2: at most what the server said that it takes, options included (RFC 6691).
        let own = self.config.mss + self.config.headers() - 40;
        let room = u32::from(opener.mss).min(own).saturating_sub(segment.options_len());
        let (len, pushes) = self.sender().ride_on_syn(room.into());
        segment.len = len;
        if pushes {
            segment.flags |= flags::PSH;
        }
        if let Some(opener) = opened(&mut self.rare) {
            opener.sent = len;
        }
    }

    /// A listener answers the option of a SYN: it takes the data, grants a cookie, or neither (RFC 7413 §4.2.2).
    pub(super) fn answer_fast_open(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let (Some(opener), Some(cookie)) = (opened(&mut self.rare), segment.fast_open()) else { return };
        if self.config.fast_open == FastOpen::Full {
            // §4.2: as many requests are pending as the server allows. It goes on as if there were no option.
            return;
        }
        if opener.cookie != Some(cookie) {
            opener.granted = opener.cookie;
        } else if segment.len > 0 {
            self.take_syn_data(now, segment, ecn);
        }
    }

    /// Takes the data of a SYN or a SYN-ACK.
    pub(super) fn take_syn_data(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let mut data = *segment;
        (data.seq, data.flags) = (segment.seq.wrapping_add(1), segment.flags & !flags::SYN);
        if data.seq_len() == 0 || !self.receiver.accepts(now, &data) {
            return;
        }
        let before = self.receiver.delivered();
        // The SYN-ACK, or the ACK of it, acknowledges it.
        self.receiver.handle(now, &data, ecn);
        let taken = self.receiver.delivered() - before;
        if let Some(opener) = opened(&mut self.rare).filter(|_| self.passive) {
            opener.taken = taken as u16;
        }
    }

    /// The other side's FIN may have come with its SYN: the state follows once the handshake is done.
    pub(super) fn note_early_fin(&mut self, now: Time) {
        if self.receiver.end_of_stream() {
            self.after_fin(now);
        }
    }

    /// Adds the option to the first SYN-ACK. One that is retransmitted has none (RFC 7413 §4.2.2).
    pub(super) fn grant_cookie(&self, segment: &mut Segment) {
        if let Some(cookie) = self.opener().and_then(|opener| opener.granted) {
            segment.set_fast_open(cookie);
        }
    }

    /// The client learns what the SYN-ACK brings: a cookie, and how much of the data was taken.
    pub(super) fn learn_from_syn_ack(&mut self, segment: &Segment) {
        let acked = segment.ack.wrapping_sub(self.iss).wrapping_sub(1);
        let Some(opener) = opened(&mut self.rare) else { return };
        if self.passive {
            return;
        }
        // §4.1.3: a cookie that was not asked for is none.
        opener.granted = segment.fast_open().filter(|cookie| opener.asked && !cookie.is_request());
        let (sent, taken) = (u64::from(opener.sent), u64::from(acked.min(opener.sent.into())));
        opener.taken = taken as u16;
        if sent > 0 {
            self.sender().syn_data_answered(sent, taken);
        }
    }

    /// A listener forgets the SYN.
    pub(super) fn forget_fast_open(&mut self) {
        if let Some(opener) = opened(&mut self.rare) {
            (opener.granted, opener.taken) = (None, 0);
        }
    }

    /// Returns true if the application's answer may go: data came with the SYN, and the SYN-ACK has gone.
    pub(super) fn answers_early(&self) -> bool {
        self.state == State::SynReceived && self.opened_fast()
    }
}
