//! Packets that a script injects, and those that it expects.

use super::{Runner, SHOWN, Step, fail, line, refused, unsupported};
use crate::compare::{Sent, differences, show_expected};
use crate::numbers::Numbers;
use crate::place::Place;
use crate::settings::{Push, Refusal};
use crate::syntax::{Action, EcnField, Event, Options, Packet, When};
use longfat_core::packet::{Ecn, flags};
use longfat_core::time::Time;

impl Runner<'_> {
    pub(super) fn inject(&mut self, place: Place, packet: &Packet) -> Step {
        self.knows_cookie(place, packet)?;
        if packet.segment.has(flags::SYN) && !packet.segment.has(flags::ACK) && self.host.connection().is_none() {
            return Err(fail(place, "no socket listens or connects"));
        }
        let ecn = match packet.ecn {
            EcnField::Unsaid => Ecn::NotEct,
            EcnField::Is(ecn) => ecn,
            EcnField::EitherEct => {
                return Err(refused(place, Refusal::Wrong("[ect01] in an injected packet; say [ect0] or [ect1]".to_owned())));
            }
        };
        let segment = self.numbers.inject(packet);
        self.remember(self.now, '<', &Sent { segment: packet.segment, len: packet.len, ecn, dscp: packet.dscp.unwrap_or(0) });
        let (taken, anew) = self.host.handle(self.now, &segment, ecn);
        if anew {
            self.numbers = Numbers::default();
        }
        if !taken {
            return Err(fail(place, "no socket is there to take the packet"));
        }
        self.flush();
        self.check()
    }

    /// Cookies are compared with the one that the script sets, and no key makes them.
    fn knows_cookie(&self, place: Place, packet: &Packet) -> Step {
        if packet.segment.fast_open().is_some() && self.settings.cookie.is_none() {
            return Err(unsupported(place, "TCP Fast Open without --fast_open_cookie"));
        }
        Ok(())
    }

    pub(super) fn expect(&mut self, event: &Event, packet: &Packet, start: Time, end: Time) -> Step {
        let place = event.place;
        self.knows_cookie(place, packet)?;
        let tolerance = self.settings.tolerance;
        let latest = end.saturating_add(tolerance);
        self.flush();
        while self.sent.is_empty() && self.step(latest) {}
        self.check()?;
        self.pass_over(packet);
        let taken = if self.is_for_the_next(packet) { None } else { self.take(packet) };
        let Some((at, sent)) = taken else {
            // Time need not pass for this packet if another one is there.
            if self.sent.is_empty() {
                self.now = self.now.max(latest);
            }
            let text = format!("no packet is sent by {:.6}", self.now.max(start).min(latest).as_secs_f64());
            return Err(
                self.with_history(fail(place, text), vec![format!("expected  {:>10.6} > {}", end.as_secs_f64(), show_expected(packet))])
            );
        };
        self.numbers.learn(packet, &sent.segment);
        let got = self.shown(&sent);
        let mut wrong = differences(packet, &got, self.settings.push == Push::Any);
        wrong.extend(self.timestamp_differs(packet, &got));
        let timed = event.when != When::Any;
        if timed && (start.since(at) > tolerance || at > latest) {
            wrong.push("time");
        }
        if !wrong.is_empty() {
            let time = |from: Time, to: Time| match (timed, from == to) {
                (false, _) => "         *".to_owned(),
                (true, true) => format!("{:>10.6}", from.as_secs_f64()),
                (true, false) => format!("{:.6}~{:.6}", from.as_secs_f64(), to.as_secs_f64()),
            };
            let lines =
                vec![format!("expected  {} > {}", time(start, end), show_expected(packet)), format!("got       {}", line(at, '>', &got))];
            return Err(self.with_history(fail(place, format!("the packet differs in {}", wrong.join(", "))), lines));
        }
        self.remember(at, '>', &got);
        self.base = if matches!(event.when, When::At { .. }) { start } else { at.max(self.base) };
        Ok(())
    }

    /// True if `sent` is as in `packet`, but for its time.
    fn is(&self, packet: &Packet, sent: &Sent) -> bool {
        differences(packet, &self.shown(sent), self.settings.push == Push::Any).is_empty()
    }

    /// Reports sent packets that nothing expects, with `--all`, if a later one of the sent packets is the expected one. An unexpected
    /// packet would otherwise stand beside every expectation after it.
    fn pass_over(&mut self, packet: &Packet) {
        if !self.options.all || self.sent.front().is_none_or(|(_, sent)| self.is(packet, sent) || sent.len < packet.len) {
            return;
        }
        let Some(found) = self.sent.iter().take(SHOWN).position(|(_, sent)| self.is(packet, sent)) else { return };
        for (at, sent) in self.sent.drain(..found).collect::<Vec<_>>() {
            let got = self.shown(&sent);
            let place = self.script.events[self.at].place;
            let finding = fail(place, "a packet was sent that nothing expects");
            let finding = self.with_history(finding, vec![format!("got       {}", line(at, '>', &got))]);
            let _ = self.judged(place, "nothing".to_owned(), Err(finding));
            self.remember(at, '>', &got);
        }
    }

    /// With `--all`: whether the packet that was sent is not the expected one but the one that the script expects next, so that this one is
    /// missing.
    fn is_for_the_next(&self, packet: &Packet) -> bool {
        let Some((_, sent)) = self.sent.front().filter(|_| self.options.all) else { return false };
        let next = self.script.events[self.at + 1..].iter().find_map(|event| match &event.action {
            Action::Expect(next) => Some(next),
            _ => None,
        });
        !self.is(packet, sent) && next.is_some_and(|next| self.is(next, sent))
    }

    /// The first packet that was sent; where the script's is longer, with those that go on where it ends. Stacks hand several
    /// segments at once to the network card, and that is what scripts made beside such a stack show.
    pub(super) fn take(&mut self, packet: &Packet) -> Option<(Time, Sent)> {
        let (at, mut sent) = self.sent.pop_front()?;
        while sent.len > 0 && sent.len < packet.len && !sent.segment.has(flags::FIN) {
            let Some((next_at, next)) = self.sent.front() else { break };
            let goes_on = next.segment.seq == sent.segment.seq.wrapping_add(sent.len as u32);
            let follows = goes_on && next.segment.ack == sent.segment.ack && (next.ecn, next.dscp) == (sent.ecn, sent.dscp);
            if !follows || next.len == 0 || next_at.since(at) > self.settings.tolerance || sent.len + next.len > packet.len {
                break;
            }
            sent.len += next.len;
            sent.segment.flags |= next.segment.flags;
            self.sent.pop_front();
        }
        Some((at, sent))
    }

    /// TSval against the clock, where the script says how fast it ticks.
    pub(super) fn timestamp_differs(&self, packet: &Packet, got: &Sent) -> Option<&'static str> {
        let Options::Listed { any_ts_val, .. } = packet.options else { return None };
        match (packet.segment.timestamps(), got.segment.timestamps()) {
            (Some((want, _)), Some((have, _))) if self.settings.timestamps_checked && !any_ts_val => {
                let tick = self.settings.setup.params().duration("timestamp_tick").as_ps().max(1);
                let most = self.settings.tolerance.as_ps().div_ceil(tick);
                let off = (have.wrapping_sub(want) as i32).unsigned_abs();
                (u64::from(off) > most).then_some("TS val")
            }
            _ => None,
        }
    }
}
