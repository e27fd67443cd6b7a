use super::*;
use crate::packet::{Direction, Ecn};
use crate::params::{Params, Value};
use crate::queue::tests::{Ledger, context, packet_with};
use crate::queue::{self, QueueKind};
use crate::rng::Rng;
use crate::units::Capacity;

/// Ports in one memory, which are offered packets of 1000 bytes.
struct Switch {
    memory: Arc<SharedBuffer>,
    ports: Vec<SharedPort>,
    packets: Packets,
    log: Ledger,
}

fn built(kind: &QueueKind, given: &[(&'static str, Value)]) -> Box<dyn Queue + Send> {
    let mut params = Params::defaults(kind.params);
    given.iter().for_each(|&(name, value)| params.set(name, value));
    (kind.build)(&params, context(10_000_000_000, 20, 1500))
}

fn packets(count: u64) -> Value {
    Value::Capacity(Capacity::Packets(count))
}

impl Switch {
    fn new(bytes: u64, ports: u64, sharing: Sharing) -> Self {
        let memory = SharedBuffer::new(bytes, ports, sharing);
        let roomy = || built(&queue::droptail::KIND, &[("limit", packets(1 << 20))]);
        let ports = (0..ports).map(|_| SharedPort::new(roomy(), memory.clone())).collect();
        Switch { memory, ports, packets: Packets::new(), log: Ledger::default() }
    }
    fn arrive(&mut self, port: usize, bytes: u16) {
        let (packet, segment) = packet_with(Ecn::Ect0, self.log.dropped.len() as u32, bytes - 40);
        let id = self.packets.insert(Direction::There, packet, segment);
        self.ports[port].enqueue(Time::ZERO, id, &mut self.packets, &mut self.log);
    }
    fn depart(&mut self, port: usize) {
        if let Some(id) = self.ports[port].dequeue(Time::ZERO, &mut self.packets, &mut self.log) {
            self.packets.remove(id);
        }
    }
    /// Returns the bytes that each port holds in the end, if the first `active` ports want more than they get, in turn.
    fn fill(&mut self, active: usize) -> Vec<u64> {
        for _ in 0..200 {
            (0..active).for_each(|port| self.arrive(port, 1000));
        }
        self.held()
    }
    fn held(&self) -> Vec<u64> {
        self.ports.iter().map(|port| port.held(Measure::Bytes)).collect()
    }
}

fn dynamic(alpha: f64) -> Sharing {
    Sharing::Dynamic { alpha }
}

/// CH98 eq. 3: n queues that want more hold alpha B / (1 + n alpha) each, and B / (1 + n alpha) stays free. In packets, to which all of
/// these come out even.
#[test]
fn the_fixed_point_is_the_papers() {
    for (bytes, alpha, active, each) in [
        (12_000, 1.0, 1, 6000),
        (12_000, 1.0, 2, 4000),
        (12_000, 1.0, 3, 3000),
        (12_000, 1.0, 5, 2000),
        (12_000, 2.0, 1, 8000),
        (10_000, 2.0, 2, 4000),
        (14_000, 2.0, 3, 4000),
        (10_000, 0.25, 1, 2000),
        (12_000, 0.5, 2, 3000),
        (72_000, 8.0, 1, 64_000),
        (34_000, 8.0, 2, 16_000),
    ] {
        let mut switch = Switch::new(bytes, 6, dynamic(alpha));
        let held = switch.fill(active);
        assert_eq!(each as f64, alpha * bytes as f64 / (1.0 + active as f64 * alpha), "the vector itself");
        assert!(held.iter().enumerate().all(|(port, held)| *held == if port < active { each } else { 0 }), "{alpha} {held:?}");
        assert_eq!(bytes - switch.memory.used(), (bytes as f64 / (1.0 + active as f64 * alpha)) as u64);
    }
}

/// CH98 §II: a queue that becomes active finds room, since some of the memory was free; the others are over the lower threshold then, take
/// nothing, and as they drain all come to the new fixed point.
#[test]
fn a_newcomer_gets_its_share_as_the_others_drain() {
    let mut switch = Switch::new(12_000, 2, dynamic(1.0));
    assert_eq!(switch.fill(1), [6000, 0]);
    // 6000 are free. It takes packets while it holds less than is free: 0 < 6, 1 < 5, 2 < 4; 3 is not less than 3.
    assert_eq!(switch.fill(2), [6000, 3000]);
    switch.depart(0);
    // 4000 are free: the first, with 5000, gets nothing, the second takes one.
    assert_eq!(switch.fill(2), [5000, 4000]);
    switch.depart(0);
    assert_eq!(switch.fill(2), [4000, 4000]);
}

/// Complete sharing gives all to whoever comes first; a static part is small even where nobody else wants any (CH98).
#[test]
fn complete_and_static_sharing() {
    let mut complete = Switch::new(12_000, 4, Sharing::Complete);
    complete.fill(1);
    assert_eq!(complete.fill(4), [12_000, 0, 0, 0]);
    let mut fixed = Switch::new(12_000, 4, Sharing::Static);
    assert_eq!(fixed.fill(1), [3000, 0, 0, 0]);
    assert_eq!(fixed.fill(4), [3000; 4]);
    let mut dynamic = Switch::new(12_000, 4, dynamic(1.0));
    assert_eq!(dynamic.fill(1), [6000, 0, 0, 0]);
    assert_eq!(dynamic.fill(4), [6000, 2000, 2000, 1000], "latecomers share what was left, but for the last 1000");
}

/// The smaller threshold decides: that of the memory, or that of the queue in it.
#[test]
fn a_queue_in_the_memory_keeps_its_own_limit_and_marks() {
    let memory = SharedBuffer::new(12_000, 2, dynamic(1.0));
    let step = built(&queue::step::KIND, &[("limit", packets(4)), ("threshold", packets(2))]);
    let tail = built(&queue::droptail::KIND, &[("limit", packets(100))]);
    let ports = [step, tail].into_iter().map(|queue| SharedPort::new(queue, memory.clone())).collect();
    let mut switch = Switch { memory, ports, packets: Packets::new(), log: Ledger::default() };
    // The first stops at its own 4 packets; half of what it leaves is for the other.
    assert_eq!(switch.fill(1), [4000, 0]);
    assert!(!switch.log.marked.is_empty());
    assert_eq!(switch.fill(2), [4000, 4000]);
}

/// A link that is idle while others fill the memory drops what comes to it: there is nowhere to put it.
#[test]
fn a_packet_that_would_pass_needs_room_as_well() {
    let mut switch = Switch::new(3000, 2, Sharing::Complete);
    switch.fill(1);
    let (packet, segment) = packet_with(Ecn::NotEct, 0, 100);
    let id = switch.packets.insert(Direction::There, packet, segment);
    assert!(!switch.ports[1].pass(Time::ZERO, Time::ZERO, id, &mut switch.packets, &mut switch.log));
    switch.depart(0);
    let id = switch.packets.insert(Direction::There, packet, segment);
    assert!(switch.ports[1].pass(Time::ZERO, Time::ZERO, id, &mut switch.packets, &mut switch.log));
    assert_eq!(switch.memory.used(), 2000, "what is in transmission is not counted");
}

/// The memory knows the bytes held, under any queue and any arrivals, and never holds more than its size.
#[test]
fn the_memory_is_never_over() {
    for (seed, sharing) in [Sharing::Complete, Sharing::Static, dynamic(0.125), dynamic(1.0), dynamic(1024.0)].into_iter().enumerate() {
        let (bytes, mut rng) = (20_000, Rng::named(seed as u64, "shared"));
        let memory = SharedBuffer::new(bytes, 4, sharing);
        let kinds = ["droptail", "fq_codel", "pfifo_head_drop", "red"];
        let ports = kinds.map(|kind| SharedPort::new(built(queue::named(kind), &[("limit", packets(9))]), memory.clone()));
        let mut switch = Switch { memory, ports: ports.into(), packets: Packets::new(), log: Ledger::default() };
        let mut most = 0;
        for _ in 0..20_000 {
            let port = rng.below(4) as usize;
            match rng.below(5) {
                0 | 1 => switch.depart(port),
                _ => switch.arrive(port, 41 + rng.below(1460) as u16),
            }
            let held = switch.held();
            assert_eq!(switch.memory.used(), held.iter().sum::<u64>());
            assert!(switch.memory.used() <= bytes, "{sharing:?}: {held:?}");
            if sharing == Sharing::Static {
                assert!(held.iter().all(|held| *held <= bytes / 4));
            }
            most = most.max(switch.memory.used());
        }
        assert!(most > bytes / 2, "{sharing:?}: {most}");
    }
}
