//! A receiver that misbehaves, within its connection.

use super::{Connection, Prompt};
use crate::misbehaving::Misbehaving;
use longfat_core::packet::Segment;

impl Connection {
    #[inline]
    pub(super) fn misbehaving(&self) -> Option<&Misbehaving> {
        self.prompt.as_deref().and_then(|prompt| prompt.misbehaving.as_ref())
    }

    /// An acceptable segment is taken in next. Returns true if the receiver acknowledges ahead of what comes: then it leaves out what is missing
    /// before the segment, since nobody retransmits what is acknowledged.
    #[inline]
    pub(super) fn skip_gap(&mut self, segment: &Segment) -> bool {
        let Some(Prompt { misbehaving: Some(misbehaving), .. }) = self.prompt.as_deref_mut() else { return false };
        if misbehaving.is_optimistic() && segment.seq_len() > 0 {
            misbehaving.left_out += self.receiver.leave_out_gap(segment);
        }
        misbehaving.is_optimistic()
    }

    /// An acceptable segment has been taken in: the receiver acknowledges more than has come, or no more where the segment shows that no more
    /// was sent.
    pub(super) fn go_ahead(&mut self, segment: &Segment) {
        let (next, _) = self.receiver.next();
        let has_ended = self.receiver.end_of_stream();
        // The number of a segment without data is SND.NXT.
        let sent = if has_ended { next } else { self.receiver.offset(segment).max(next) };
        let largest = self.receiver.largest_segment();
        let Some(Prompt { misbehaving: Some(misbehaving), .. }) = self.prompt.as_deref_mut() else { return };
        if has_ended || segment.seq_len() == 0 {
            self.ack_now |= misbehaving.retreat(sent);
        } else {
            misbehaving.arrived(next, segment.seq_len().into(), largest);
        }
    }

    /// A segment came that is not in the window: if it is a retransmission, the sender has not taken what the receiver acknowledges. An ACK
    /// follows.
    pub(super) fn retreat(&mut self) {
        let (next, _) = self.receiver.next();
        if let Some(Prompt { misbehaving: Some(misbehaving), .. }) = self.prompt.as_deref_mut() {
            misbehaving.retreat(next);
        }
    }
}
