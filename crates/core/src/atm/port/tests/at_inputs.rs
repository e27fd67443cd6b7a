//! Buffers at the inputs, compared with a reference that keeps every cell, slot by slot.

use super::*;

fn port(kind: &DiscardKind, params: &Params, lines: usize, cell_time: Duration) -> Port {
    let config = PortConfig {
        slot_time: CELL_TIME,
        cell_time,
        buffer: discard::buffer(params),
        at_inputs: true,
        inputs: (0..lines).map(spacing).collect(),
        channels: CHANNELS,
        is_before_switch: false,
        after_loss: (kind.after_loss)(params),
        accounts: kind.accounts,
        rng: Rng::named(1, "fabric"),
    };
    Port::new(config, (0..lines).map(|_| (kind.build)(params, context())).collect())
}

/// Plain reference for buffers at the inputs: each is a port of its own, from which a cell goes when the other side says so.
struct Inputs {
    each: Vec<Reference>,
    turn: usize,
    free: u64,
    /// Cells with the time they have left.
    sent: Vec<(Time, Cell)>,
    integral: u128,
}

impl Inputs {
    fn new(kind: &DiscardKind, params: &Params, lines: usize) -> Self {
        let each = (0..lines).map(|_| Reference::new(kind, params, lines, CELL_TIME)).collect();
        Inputs { each, turn: 0, free: 0, sent: Vec::new(), integral: 0 }
    }

    fn slot(&mut self, slot: u64, cell_time: u64, silent_from: &mut [Time]) {
        let (now, end) = (Time::from_ps(slot * CELL_TIME.as_ps()), (slot + 1) * CELL_TIME.as_ps());
        for (line, port) in self.each.iter_mut().enumerate() {
            // RED counts idle time from when the buffer became empty.
            port.free = if port.held.is_empty() { silent_from[line] } else { now };
            if port.inputs[line].front().is_some_and(|(time, _)| *time <= now) {
                let (_, cell) = port.inputs[line].pop_front().unwrap();
                port.come(now, Time::from_ps(end), cell);
            }
        }
        if self.free > end + CELL_TIME.as_ps() {
            return;
        }
        let lines = self.each.len();
        let Some(line) = (1..=lines).map(|i| (self.turn + i) % lines).find(|line| !self.each[*line].held.is_empty()) else { return };
        self.turn = line;
        let (entered, cell) = self.each[line].held.pop_front().unwrap();
        silent_from[line] = Time::from_ps(end);
        let start = self.free.max(end);
        self.integral += u128::from(start - entered.as_ps());
        self.free = start + cell_time;
        self.sent.push((Time::from_ps(self.free), cell));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn input_buffers_are_their_reference((kind, params) in policy(), given in packets_given(), lines in 1..5_usize, slower_ps in prop_oneof![Just(0), 0..5_000_000_u64]) {
        // RED's average decays by the time in which no cell waited, which the plain reference reads off its line.
        prop_assume!(!matches!(kind.name, "epd_red" | "epd_ecn"));
        let cell_time = CELL_TIME + Duration::from_ps(slower_ps);
        let runs = runs(&given, lines);
        let seen = through(port(kind, &params, lines, cell_time), &runs);
        let mut reference = Inputs::new(kind, &params, lines);
        let mut silent_from = vec![Time::ZERO; lines];
        let mut pending = runs.iter().peekable();
        let total: u64 = given.iter().map(|g| u64::from(g.cells)).sum();
        let end = runs.last().unwrap().1.arrives.as_ps() / CELL_TIME.as_ps() + 4 * total + 10;
        for slot in 0..end {
            while let Some((line, run)) = pending.next_if(|(_, run)| run.arrives.as_ps() <= slot * CELL_TIME.as_ps()) {
                reference.each[*line].announce(*line, *run);
            }
            reference.slot(slot, cell_time.as_ps(), &mut silent_from);
        }
        let mut line = Reference::new(kind, &params, lines, cell_time);
        line.sent = reference.sent;
        let whole: Vec<(u32, Time)> = seen.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Whole { route, leaves, .. } => Some((*route, *leaves)),
            _ => None,
        }).collect();
        prop_assert_eq!(whole, line.whole());
        prop_assert_eq!(seen.count.passed, line.sent.len() as u64);
        prop_assert_eq!(seen.count.cells_in(), total);
        for why in [CellDrop::Overflow, CellDrop::Rest, CellDrop::Early] {
            let dropped = reference.each.iter().flat_map(|port| &port.dropped).filter(|(_, other)| *other == why).count();
            prop_assert_eq!(seen.count.dropped[why as usize], dropped as u64, "{:?}", why);
        }
        prop_assert!(seen.count.queue_max <= discard::buffer(&params));
        let (backlog, transmitted, busy, waited) = *seen.looks.last().unwrap();
        prop_assert_eq!((backlog, transmitted), (0, seen.count.passed));
        prop_assert_eq!(busy, cell_time * transmitted);
        prop_assert_eq!(waited, reference.integral);
    }

    /// Every policy conserves cells, and a second run is equal.
    #[test]
    fn nothing_is_lost_from_the_books_of_input_buffers((kind, params) in policy(), given in packets_given(), lines in 1..5_usize) {
        let runs = runs(&given, lines);
        let seen = through(port(kind, &params, lines, CELL_TIME), &runs);
        let Count { passed, whole, dead, packets_whole, packets_partial, packets_dropped, packets_merged, .. } = seen.count;
        prop_assert_eq!(passed, whole + dead);
        prop_assert_eq!(packets_whole + packets_partial + packets_dropped + packets_merged, given.len() as u64);
        let ended = |outcome: &&Outcome| matches!(outcome, Outcome::Whole { .. } | Outcome::Lost { is_gone: true, .. });
        prop_assert_eq!(seen.outcomes.iter().filter(ended).count(), given.len());
        prop_assert_eq!(seen, through(port(kind, &params, lines, CELL_TIME), &runs));
    }
}

/// One input alone equals one buffer at the output: no cell is in its way at either.
#[test]
fn one_input_is_one_output() {
    let (kind, params) = with_buffer("epd", 20);
    let given: Vec<Given> = (0..50).map(|i| Given { channel: i % CHANNELS, cells: 12, is_ect: false, gap: Duration::ZERO }).collect();
    let runs = runs(&given, 1);
    let at_output = super::port(kind, &params, vec![CELL_TIME], false);
    assert_eq!(through(port(kind, &params, 1, CELL_TIME), &runs).outcomes, through(at_output, &runs).outcomes);
}
