//! The far end that only counts, compared with one that has the bytes: real trailers, a real CRC-32, and cells lost at random.

use proptest::prelude::*;

use super::*;

/// I.363.5 §9.2.1.2: generator 0x04c11db7, bits in the order of the line, all ones to begin with, complemented.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |mut crc: u32, byte: &u8| {
        crc ^= u32::from(*byte) << 24;
        for _ in 0..8 {
            crc = if crc & 0x8000_0000 == 0 { crc << 1 } else { (crc << 1) ^ 0x04c1_1db7 };
        }
        crc
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// Returns the payloads of the cells of `sdu`.
fn segment(sdu: &[u8]) -> Vec<Vec<u8>> {
    let mut frame = sdu.to_vec();
    frame.resize((cells(sdu.len() as u32) * PAYLOAD) as usize - 6, 0);
    frame.extend((sdu.len() as u16).to_be_bytes());
    frame.extend(crc32(&frame).to_be_bytes());
    frame.chunks(PAYLOAD as usize).map(<[u8]>::to_vec).collect()
}

/// Returns the payload of the cells up to an end of a frame, if the length and the CRC are right.
fn reassemble(cells: &[Vec<u8>]) -> Option<Vec<u8>> {
    let frame = cells.concat();
    let (rest, crc) = frame.split_last_chunk::<4>()?;
    let len = usize::from(u16::from_be_bytes(*rest.last_chunk::<2>()?));
    let right_length = self::cells(len as u32) as usize == cells.len();
    (right_length && u32::from_be_bytes(*crc) == crc32(rest)).then(|| frame[..len].to_vec())
}

#[test]
fn a_frame_is_padded_to_whole_cells() {
    // An ACK of 40 bytes fills a cell; a byte more takes a second one. The largest frame has 1366 (I.363.5).
    assert_eq!([0, 40, 41, 88, 89, 9188, MAX_SDU].map(cells), [1, 1, 2, 2, 3, 192, 1366]);
    // The check value of this CRC: "123456789" (published as CRC-32/BZIP2).
    assert_eq!(crc32(b"123456789"), 0xfc89_1918);
    assert_eq!(segment(&[7; 100]).len(), 3);
    assert_eq!(reassemble(&segment(&[7; 100])), Some(vec![7; 100]));
}

/// Shows why the end of a packet must not be dropped (RF95 §4).
#[test]
fn a_lost_end_takes_the_next_frame_with_it() {
    let mut far_end = Reassembly::default();
    far_end.come(2);
    assert_eq!(far_end.end_of_packet(), 2);
    far_end.come(3);
    assert!(far_end.is_open() && !far_end.end_of_frame(3) && !far_end.is_open());
    far_end.end_of_packet();
    far_end.come(3);
    assert!(far_end.end_of_frame(3));
}

proptest! {
    #[test]
    fn counting_cells_finds_what_the_bytes_would(frames in prop::collection::vec((0..400_usize, prop::collection::vec(prop::bool::weighted(0.15), 9)), 1..30)) {
        let mut far_end = Reassembly::default();
        let mut held = Vec::new();
        for (number, (len, lost)) in frames.into_iter().enumerate() {
            // All frames differ.
            let sdu: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(number as u8 + 1)).collect();
            let all = segment(&sdu);
            let (n, mut delivered) = (all.len(), false);
            for (i, cell) in all.into_iter().enumerate().filter(|(i, _)| !lost[*i]) {
                far_end.come(1);
                held.push(cell);
                if i + 1 == n {
                    delivered = far_end.end_of_frame(n as u32);
                    prop_assert_eq!(reassemble(&held).is_some_and(|bytes| bytes == sdu), delivered);
                    prop_assert!(delivered || reassemble(&held).is_none());
                    held.clear();
                }
            }
            let came = lost[..n].iter().filter(|lost| !**lost).count();
            prop_assert_eq!(far_end.end_of_packet(), came as u32);
            prop_assert!(!delivered || came == n);
        }
    }
}
