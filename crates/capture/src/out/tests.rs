//! Headers byte by byte; what a capture is as a whole, tshark judges (`tests/test_capture.py`).

use super::headers::options;
use longfat_core::packet::{AccEcnOption, Segment, flags};
use longfat_record::trace::PacketEvent;
use proptest::prelude::*;

proptest! {
    /// The options of any segment take the room that the simulator counts for them.
    #[test]
    fn options_take_the_room_that_is_counted(
        syn in any::<bool>(),
        stamps in proptest::option::of(any::<(u32, u32)>()),
        sack_permitted in any::<bool>(),
        mss in proptest::option::of(any::<u16>()),
        window_scale in proptest::option::of(0_u8..15),
        blocks in 0_usize..5,
        accecn in proptest::option::of((0_u8..2, 0_u8..4)),
    ) {
        let mut segment = Segment::new(0, if syn { flags::SYN } else { flags::ACK }, 0);
        let mut row = PacketEvent::default();
        if let Some((val, ecr)) = stamps {
            segment.set_timestamps(val, ecr);
            row.timestamps = Some((val, ecr));
        }
        if syn {
            if sack_permitted {
                segment.set_sack_permitted();
            }
            if let Some(mss) = mss {
                segment.set_mss(mss);
            }
            if let Some(shift) = window_scale {
                segment.set_window_scale(shift);
            }
            (row.sack_permitted, row.mss, row.window_scale) = (sack_permitted, mss, window_scale);
        } else {
            for i in 0..blocks {
                if segment.push_sack(10 * i as u32, 10 * i as u32 + 5) {
                    row.sack[i] = [Some(10 * i as u64), Some(10 * i as u64 + 5)];
                }
            }
        }
        if let Some((order, fields)) = accecn {
            let option = AccEcnOption { order, fields, values: [1, 2, 3] };
            if segment.options_len() + AccEcnOption::padded_len(fields) <= 40 && segment.set_accecn(option) {
                row.accecn = Some(option);
            }
        }
        prop_assert_eq!(options(&row, |edge| edge as u32).len(), segment.options_len() as usize);
    }
}

/// A SYN of Linux, and an ACK with a block: kinds and lengths of RFC 9293 section 3.2, RFC 7323 and RFC 2018.
#[test]
fn options_are_those_of_the_rfcs() {
    let syn = PacketEvent {
        timestamps: Some((0x0102_0304, 0)),
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..PacketEvent::default()
    };
    assert_eq!(options(&syn, |_| 0), [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7]);
    let mut ack = PacketEvent::default();
    ack.sack[0] = [Some(5), Some(9)];
    assert_eq!(options(&ack, |edge| 256 + edge as u32), [1, 1, 5, 10, 0, 0, 1, 5, 0, 0, 1, 9]);
}
