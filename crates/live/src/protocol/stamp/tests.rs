use proptest::prelude::*;

use super::*;

const NOW: Nanos = 1_795_874_400 * SECOND + 123_456_789;

fn from(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Vectors by hand: 28 November 2026 14:00 UTC is 1795874400 s after 1970, and 4004863200 s after 1900.
#[test]
fn a_packet_and_its_answer_have_the_bytes_of_the_rfcs() {
    let mut bytes = [0xff; PACKET];
    write(7, 1_795_874_400 * SECOND + SECOND / 2, 0x1234, &mut bytes);
    let seconds = 4_004_863_200_u32.to_be_bytes();
    assert_eq!((&bytes[..4], &bytes[4..8], &bytes[8..12]), (&[0, 0, 0, 7][..], &seconds[..], &[0x80, 0, 0, 0][..]));
    assert_eq!((&bytes[12..16], &bytes[16..]), (&[32, 1, 0x12, 0x34][..], &[0; 28][..]));
    let asked = bytes;
    assert!(reflect(&mut bytes, 5, NOW, NOW + 1000, 61));
    assert_eq!((&bytes[..4], &bytes[14..16]), (&[0, 0, 0, 5][..], &[0x12, 0x34][..]));
    assert_eq!((&bytes[24..38], &bytes[38..]), (&asked[..14], &[0, 0, 61, 0, 0, 0][..]));
    let answer = Answer::parse(&bytes).unwrap();
    assert_eq!((answer.asked, answer.number, answer.ssid, answer.ttl, answer.is_synchronised), (7, 5, 0x1234, 61, false));
    assert_eq!((answer.came, answer.left), (NOW, NOW + 1000));
    assert!(answer.is_to(1_795_874_400 * SECOND + SECOND / 2, 0x1234) && !answer.is_to(NOW, 0x1234));
    // The 41 bytes of TWAMP Light.
    assert!(Answer::parse(&bytes[..41]).is_some() && Answer::parse(&bytes[..40]).is_none());
}

#[test]
fn times_of_ptp_and_of_the_next_era_are_read() {
    let mut bytes = [0; PACKET];
    bytes[12] = IS_PTP | IS_SYNCHRONISED;
    bytes[4..8].copy_from_slice(&100_u32.to_be_bytes());
    bytes[8..12].copy_from_slice(&999_999_999_u32.to_be_bytes());
    let answer = Answer::parse(&bytes).unwrap();
    assert_eq!((answer.left, answer.came, answer.is_synchronised), (100 * SECOND + 999_999_999, 0, true));
    bytes[8..12].copy_from_slice(&1_000_000_000_u32.to_be_bytes());
    assert_eq!(Answer::parse(&bytes), None, "no PTP time has a whole second in its nanoseconds");
    // 7 February 2036, 6:28:16 UTC (RFC 4330 §3).
    let next = (1_u64 << 32) - FROM_1900;
    assert_eq!((time(&[0; 8], 0..8, false), ntp(next * SECOND)), (Some(next * SECOND), [0; 8]));
}

#[test]
fn extensions_come_back_with_their_flags() {
    let mut bytes = vec![0; PACKET];
    bytes.extend([0x80, 1, 0, 2, 0xaa, 0xbb]);
    bytes.extend([0x80, 4, 0, 4, 1, 2, 3, 4]);
    bytes.extend([0x80, 1, 0, 9, 7]);
    assert!(reflect(&mut bytes, 0, NOW, NOW, 64));
    assert_eq!(bytes[PACKET..], [0, 1, 0, 2, 0xaa, 0xbb, 0x80, 4, 0, 4, 1, 2, 3, 4, 0x40, 1, 0, 9, 7]);
}

#[test]
fn prefixes_are_read_and_written() {
    for (text, inside, outside) in [
        ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("0.0.0.0/0", "8.8.8.8", "2001:db8::1"),
        ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
        ("::/0", "2001:db8::1", "8.8.8.8"),
    ] {
        let prefix: Prefix = text.parse().unwrap();
        assert!(prefix.has(inside.parse().unwrap()) && !prefix.has(outside.parse().unwrap()), "{text}");
        assert!(prefix.to_string().starts_with(text), "{prefix}");
    }
    for (wrong, said) in [("192.0.2.1/24", "bits set"), ("192.0.2.0/33", "no prefix"), ("here", "no prefix"), ("::/x", "no prefix")] {
        assert!(wrong.parse::<Prefix>().unwrap_err().contains(said), "{wrong}");
    }
}

#[test]
fn a_reflector_answers_its_prefix_alone_at_its_rate_and_counts_each_session() {
    let mut books = Reflector::new(vec!["192.0.2.0/24".parse().unwrap()], 8620, 1000);
    let packet = [0; PACKET];
    assert_eq!(books.admit(NOW, from("198.51.100.1:9"), &packet), None, "another network");
    assert_eq!(books.admit(NOW, from("192.0.2.1:9"), &packet[1..]), None, "too short");
    assert_eq!([862, 8620].map(|port| books.admit(NOW, SocketAddr::new("192.0.2.1".parse().unwrap(), port), &packet)), [None; 2]);
    let numbers: Vec<_> = [1, 1, 2, 1].iter().map(|port| books.admit(NOW, from(&format!("192.0.2.1:{port}")), &packet)).collect();
    assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(2)]);
    // 100 packets at once are those of 0.1 s, and one more; then as many as the rate has.
    let at_once = (0..500).filter(|_| books.admit(NOW, from("192.0.2.3:9"), &packet).is_some()).count();
    assert_eq!(at_once, 101 - 4);
    let later = (0..5000).filter(|part| books.admit(NOW + SECOND + part * SECOND / 5000, from("192.0.2.3:9"), &packet).is_some()).count();
    assert!((1000..=1101).contains(&later), "{later}");
    assert_eq!(books.admit(NOW + 100 * SECOND, from("192.0.2.1:1"), &packet), Some(0), "it was forgotten");
}

#[test]
fn sessions_are_bounded_and_forgotten() {
    let mut books = Reflector::new(vec!["0.0.0.0/0".parse().unwrap()], 1, 1_000_000);
    let at = |port: usize| SocketAddr::new("192.0.2.1".parse().unwrap(), 2000 + port as u16);
    assert!((0..SESSIONS).all(|port| books.admit(NOW, at(port), &[0; PACKET]).is_some()));
    assert_eq!(books.admit(NOW, at(SESSIONS), &[0; PACKET]), None);
    assert_eq!(books.admit(NOW, at(0), &[0; PACKET]), Some(1), "those that are there go on");
    assert_eq!(books.admit(NOW + FORGOTTEN, at(SESSIONS), &[0; PACKET]), Some(0));
    assert_eq!(books.sessions.len(), 1);
}

#[test]
fn losses_are_told_apart_as_far_as_the_reflector_counts() {
    let of = |up, down, unknown| Losses { up: Some(up), down: Some(down), unknown };
    assert_eq!(losses(5, &[]), Losses { up: None, down: None, unknown: 5 });
    assert_eq!(losses(5, &[(0, 0), (1, 1), (2, 2)]), of(0, 0, 2), "the last ones: nobody knows");
    assert_eq!(losses(5, &[(0, 0), (2, 1), (4, 2)]), of(2, 0, 0));
    assert_eq!(losses(6, &[(0, 0), (2, 1), (5, 3)]), of(2, 1, 0));
    assert_eq!(losses(4, &[(0, 0), (3, 3)]), Losses { up: None, down: None, unknown: 2 }, "it copies, or only answers were lost");
    assert_eq!(losses(4, &[(0, 40), (1, 41), (3, 42)]), of(1, 0, 0), "it has counted before");
    assert_eq!(losses(3, &[(1, 0), (0, 1), (2, 2)]), of(0, 0, 0), "reordered");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Any bytes: nothing panics, an answer has the length of its question, and what was not a packet is left alone.
    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), number: u32, came in 0_u64..4_000_000_000 * SECOND, ttl: u8) {
        let mut answer = bytes.clone();
        let is_packet = reflect(&mut answer, number, came, came, ttl);
        prop_assert_eq!(is_packet, bytes.len() >= PACKET);
        prop_assert_eq!(answer.len(), bytes.len());
        if is_packet {
            prop_assert_eq!(&answer[24..38], &bytes[..14]);
            let read = Answer::parse(&answer);
            prop_assert_eq!(read.map(|read| (read.number, read.ttl)), Some((number, ttl)));
        } else {
            prop_assert_eq!(&answer, &bytes);
        }
        let _ = Answer::parse(&bytes);
        let _ = String::from_utf8_lossy(&bytes).parse::<Prefix>();
        let mut books = Reflector::new(vec!["::/0".parse().unwrap()], 9, 10);
        let _ = books.admit(came, from("[::1]:7"), &bytes);
    }

    /// Times survive the format of NTP to the nanosecond.
    #[test]
    fn times_come_back(wall in 0_u64..4_000_000_000 * SECOND) {
        prop_assert_eq!(time(&ntp(wall), 0..8, false), Some(wall));
    }

    /// Losses at random both ways, a reflector that counts: all of them are told, in the right direction, unless nothing shows that it counts.
    #[test]
    fn random_losses_are_told_apart(fates in prop::collection::vec(0_u8..10, 1..200)) {
        let (mut count, mut answers, mut lost) = (0, Vec::new(), [0, 0]);
        let mut since = [0, 0];
        for (asked, fate) in fates.iter().enumerate() {
            if *fate == 0 {
                since[0] += 1;
                continue;
            }
            count += 1;
            if *fate == 1 {
                since[1] += 1;
            } else {
                answers.push((asked as u32, count - 1));
                lost = [lost[0] + since[0], lost[1] + since[1]];
                since = [0, 0];
            }
        }
        let found = losses(fates.len() as u32, &answers);
        let all = fates.len() as u32 - answers.len() as u32;
        prop_assert_eq!(found.up.unwrap_or(0) + found.down.unwrap_or(0) + found.unknown, all);
        if let (Some(up), Some(down)) = (found.up, found.down) {
            prop_assert_eq!([up, down], lost);
            prop_assert_eq!(found.unknown, since[0] + since[1]);
        }
    }
}
