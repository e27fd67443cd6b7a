//! Attacks on the protocols beside a session: STAMP, surveys of the path, and the words of a server of iperf3.

use std::net::SocketAddr;

use super::{Draw, NONCE, damage, holds};
use crate::protocol::iperf;
use crate::protocol::reach::{self, Reach};
use crate::protocol::stamp::{self, Reflector};
use crate::protocol::survey::{self, Kind, Question};
use crate::protocol::{Nanos, SECOND, Token};

/// STAMP packets, damaged: an answer has the bytes of its question and no others' time, and the reflector keeps to its prefix and its rate.
pub(super) fn stamps(draw: &mut Draw, inputs: u64) -> Result<(), String> {
    const RATE: u32 = 1000;
    /// Times of NTP are told apart from 1968 to 2104 (RFC 4330 §3).
    const LAST: Nanos = 4_200_000_000 * SECOND;
    let prefix = "10.0.0.0/8".parse().map_err(|why: String| why)?;
    let mut reflector = Reflector::new(vec![prefix], 8620, RATE);
    let (mut now, mut admitted) = (0, 0_u64);
    for _ in 0..inputs {
        let mut bytes = vec![0; stamp::PACKET];
        stamp::write(draw.next() as u32, draw.number() % LAST, draw.next() as u16, &mut bytes);
        if draw.is_one_in(2) {
            // Extensions: flags, type, a length that may be wrong, and a value.
            for _ in 0..draw.below(4) {
                let (len, says) = (draw.below(40), draw.below(60));
                bytes.extend([draw.next() as u8, draw.below(12) as u8, 0, says as u8]);
                bytes.extend(draw.bytes(len));
            }
        }
        damage(draw, &mut bytes);
        now += draw.number() % (SECOND / 200);
        let address = if draw.is_one_in(2) { [10, draw.next() as u8, 0, draw.below(8) as u8] } else { [192, 0, 2, 1] };
        let from = SocketAddr::from((address, *draw.pick(&[862, 8620, 40_000, 40_001])));
        let (was, question) = (bytes.len(), bytes.clone());
        if reflector.admit(now, from, &bytes).is_some() {
            admitted += 1;
            holds(address[0] == 10 && from.port() >= 40_000, || format!("{from} gets an answer"))?;
            holds(was >= stamp::PACKET, || format!("{was} bytes get an answer"))?;
        }
        // A tenth of a second at once, and the rate from then on.
        let most = u64::from(RATE) / 10 + 2 + now / (SECOND / u64::from(RATE));
        holds(admitted <= most, || format!("{admitted} answers in {now} ns"))?;
        let is_packet = stamp::reflect(&mut bytes, 1, draw.number() % LAST, draw.number() % LAST, 64);
        holds(bytes.len() == was && is_packet == (was >= stamp::PACKET), || format!("an answer of {} bytes to {was}", bytes.len()))?;
        if is_packet {
            let answer = stamp::Answer::parse(&bytes).ok_or("an answer of ours is none")?;
            holds(answer.asked.to_be_bytes() == question[..4] && answer.stamp == question[4..12], || {
                "an answer to another packet".to_owned()
            })?;
        }
        damage(draw, &mut bytes);
        let _ = stamp::Answer::parse(&bytes);
        let answers: Vec<(u32, u32)> = (0..draw.below(6)).map(|_| (draw.number() as u32, draw.number() as u32)).collect();
        let sent = answers.iter().map(|(asked, _)| *asked).max().unwrap_or(0).saturating_add(1);
        let losses = stamp::losses(sent, &answers);
        holds(losses.up.unwrap_or(0).max(losses.down.unwrap_or(0)) <= sent, || format!("{losses:?} of {sent}"))?;
    }
    Ok(())
}

/// Words and results of a server of iperf3, damaged: what is read is bounded, and a fault is one short line.
pub(super) fn iperfs(draw: &mut Draw, inputs: u64) -> Result<(), String> {
    const SEEN: &str = r#"{"cpu_util_total":1.2,"cpu_util_user":0.4,"cpu_util_system":0.8,"sender_has_retransmits":18446744073709551615,"congestion_used":"cubic","streams":[{"id":1,"bytes":1310720,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1.000341}]}"#;
    for byte in 0..=u8::MAX {
        let _ = iperf::State::of(byte);
    }
    for _ in 0..inputs {
        let mut bytes = SEEN.as_bytes().to_vec();
        damage(draw, &mut bytes);
        match iperf::results(&bytes) {
            Ok(read) => {
                let [stream] = &read.streams[..] else { return Err(format!("{} streams", read.streams.len())) };
                let is_bounded = (0.0..1e6).contains(&stream.start_time) && (stream.start_time..1e6).contains(&stream.end_time);
                holds(is_bounded, || format!("times {} and {}", stream.start_time, stream.end_time))?;
                let name = read.congestion_used.unwrap_or_default();
                holds(name.chars().count() <= 200 && !name.chars().any(char::is_control), || format!("the control {name:?}"))?;
            }
            Err(why) => holds(why.chars().count() <= 200 && !why.contains('\n'), || format!("the fault {why:?}"))?,
        }
    }
    Ok(())
}

/// Datagrams at a server's port, damaged and of strangers: without the nonce or the token there is no answer, and none is longer than its question.
pub(super) fn surveys(draw: &mut Draw, inputs: u64) -> Result<(), String> {
    let mut reach = Reach::default();
    let token = reach.issue(0, u64::MAX, 1, [9; Token::LEN]);
    let owner = SocketAddr::from(([192, 0, 2, 1], 5));
    let nonce = reach.answer(1, owner, &reach::datagram(token), || Some([8; Token::LEN])).ok_or("a token has no nonce")?;
    let kinds = [Kind::Echo, Kind::Burst, Kind::Train];
    for _ in 0..inputs {
        let mut bytes = vec![0; survey::QUESTION + draw.below(100)];
        let (kind, number) = (*draw.pick(&kinds), draw.number() as u32);
        let answer = draw.number() as u16;
        Question { kind, tos: draw.next() as u8, answer, number, a: draw.number() as u32, b: draw.number() as u32 }
            .write(NONCE, &mut bytes);
        damage(draw, &mut bytes);
        let knows = bytes.starts_with(&NONCE.0);
        let question = Question::parse(NONCE, &bytes);
        holds(knows || question.is_none(), || "a question without its nonce".to_owned())?;
        if let Some(question) = question {
            let answered = question.answered(bytes.len());
            holds(answered <= bytes.len(), || format!("{answered} bytes answer {}", bytes.len()))?;
            if answered >= survey::ANSWER {
                let told = (0..draw.below(20)).map(|_| (draw.number() as u32, draw.number())).collect();
                let answer = survey::Answer { kind, tos: 1, ttl: 64, number, came: draw.number(), left: draw.number(), told };
                let mut out = vec![0; answered];
                answer.write(NONCE, &mut out);
                let read = survey::Answer::parse(NONCE, &out).ok_or("an answer of ours is none")?;
                holds(read.number == number && read.told[..] == answer.told[..read.told.len()], || format!("{read:?} of {answer:?}"))?;
                damage(draw, &mut out);
                let _ = survey::Answer::parse(NONCE, &out);
            }
        }
        let mut shown = reach::datagram(token).to_vec();
        if !draw.is_one_in(8) {
            damage(draw, &mut shown);
        }
        let from = if draw.is_one_in(2) { owner } else { SocketAddr::from(([192, 0, 2, 2], draw.next() as u16)) };
        let answer = reach.answer(2, from, &shown, || Some([7; Token::LEN]));
        let is_due = from == owner && shown == reach::datagram(token);
        holds(answer == is_due.then_some(nonce), || format!("{from} gets {answer:?}"))?;
        holds(answer.is_none_or(|answer| answer.len() <= shown.len()), || "an answer longer than its question".to_owned())?;
    }
    Ok(())
}
