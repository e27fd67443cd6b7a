//! Delivery rate: how fast data arrives at the other end, as a control that models the path wants to know it
//! (draft-ietf-ccwg-bbr §4.1, delivery rate sampling).

use crate::time::Duration;

/// What an ACK tells of the rate at which data was delivered. Byte counts are of the stream's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered in `interval`: between the sending of the newest segment this ACK delivers and its delivery.
    pub delivered: u64,
    /// The longer of the spans in which those bytes were sent and in which they were acknowledged.
    pub interval: Duration,
    /// All bytes delivered on the connection when that segment was sent, and now.
    pub prior_delivered: u64,
    pub total_delivered: u64,
    /// All bytes of the connection marked lost so far, and of them those since that segment was sent.
    pub total_lost: u64,
    pub lost: u64,
    /// Bytes in flight when that segment was sent, itself included.
    pub in_flight_then: u64,
    /// Whether the sender had too little to send when that segment was sent.
    pub app_limited: bool,
}
