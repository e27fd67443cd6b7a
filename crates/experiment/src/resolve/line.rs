//! Link as the file describes it, in both directions, and the queue in front of each.

use super::unsteady::{Changes, KEYS, changes};
use crate::error::Fault;
use crate::fields::{self, LOSS};
use crate::view::{View, Written};
use longfat_core::atm::aal5;
use longfat_core::link::framing::{self, Framing};
use longfat_core::link::loss;
use longfat_core::params::{Choice, Value};
use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_core::units::text::TIME;
use longfat_model::{Link, Pause};

/// Queue and discard policy in front of a link as written, and the place of the link.
#[derive(Clone)]
pub(super) struct Front<'a> {
    pub queue: Option<Written<'a>>,
    pub discard: Option<Written<'a>>,
    pub place: Written<'a>,
}

/// One direction of a link as the file describes it.
#[derive(Clone)]
pub(super) struct Direction<'a> {
    pub rate: Rate,
    pub delay: Option<Duration>,
    pub mtu: u32,
    pub cells: bool,
    pub overhead: u32,
    pub min_frame: u32,
    pub loss: Choice,
    pub changes: Changes,
    pub pause: Option<Pause>,
    pub bottleneck: bool,
    pub front: Front<'a>,
}

impl Direction<'_> {
    /// The fastest it ever is.
    pub(super) fn most(&self) -> Rate {
        let changing = self.changes.unsteady.service.as_ref().map(|service| Rate::from_bps(service.greatest().max(1)));
        changing.map_or(self.rate, |most| most.max(self.rate))
    }
    /// A direction of this framing and mtu with a rate of its own, on which nothing happens.
    pub(super) fn bare(&self, rate: Rate) -> Self {
        let Direction { mtu, cells, overhead, min_frame, .. } = *self;
        let front = Front { queue: None, discard: None, place: self.front.place.clone() };
        let (loss, changes) = (loss::choice("none"), Changes::default());
        Direction { rate, delay: None, mtu, cells, overhead, min_frame, loss, changes, pause: None, bottleneck: false, front }
    }
}

/// A link as the file describes it, both directions.
#[derive(Clone)]
pub(super) struct Line<'a> {
    pub there: Direction<'a>,
    pub back: Direction<'a>,
}

impl Line<'_> {
    pub(super) fn with_delay(&self, there: Duration, back: Duration) -> Self {
        let mut line = self.clone();
        (line.there.delay, line.back.delay) = (Some(there), Some(back));
        line
    }
    /// Propagation there and back.
    pub(super) fn round_trip(&self) -> Duration {
        self.there.delay.unwrap_or(Duration::ZERO) + self.back.delay.unwrap_or(Duration::ZERO)
    }
}

/// Returns the link that `view` describes.
pub(super) fn line<'a>(view: &View<'a>) -> Result<Line<'a>, Fault> {
    let there = way(view, None)?;
    // The forward direction is the bottleneck, unless the reverse direction says so too.
    let same = Direction { bottleneck: false, ..there.clone() };
    let back = match view.sub("reverse", fields::way()) {
        Some(reverse) => way(&reverse, Some(&same))?,
        None => same,
    };
    Ok(Line { there, back })
}

/// One way of a link: what `view` says over its type, or over the other way.
fn way<'a>(view: &View<'a>, other: Option<&Direction<'a>>) -> Result<Direction<'a>, Fault> {
    let usual = match (view.word("type")?.and_then(framing::find), other) {
        (Some(framing), _) => *framing,
        (None, Some(w)) => Framing {
            rate: Some(w.rate),
            overhead: w.overhead,
            min_frame: w.min_frame,
            mtu: w.mtu,
            cells: w.cells,
            ..*framing::named("plain")
        },
        (None, None) => *framing::named("plain"),
    };
    let written = if let Value::Rate(rate) = view.value("rate")? { Some(rate) } else { None };
    let changes = changes(view, other.map(|w| &w.changes))?;
    let mean = changes.unsteady.service.as_ref().filter(|_| view.get("rate_trace").is_some()).map(|service| Rate::from_bps(service.mean()));
    let rate = written.or(mean).or(usual.rate).ok_or_else(|| {
        let types: Vec<&str> = framing::REGISTRY.iter().filter(|f| f.rate.is_some()).map(|f| f.name).collect();
        let fault = view.fault("rate", "the link has neither a `rate` nor a `type` that gives one");
        fault.expected(format!("a rate such as \"622 Mbit/s\", or one of the types {}", types.join(", ")))
    })?;
    let small = |name: &str, usual: u32| view.integer(name).map(|n| n.map_or(usual, |n| n as u32));
    let loss = match view.written("loss") {
        Some(written) => loss(&written)?,
        None => other.map_or_else(|| loss::choice("none"), |w| w.loss.clone()),
    };
    let pause = match view.sub("pause", fields::pause()) {
        Some(written) => Some(pause(&written)?),
        None => other.and_then(|w| w.pause),
    };
    let front = Front {
        queue: view.written("queue").or_else(|| other.and_then(|w| w.front.queue.clone())),
        discard: view.written("discard").or_else(|| other.and_then(|w| w.front.discard.clone())),
        place: view.at.clone(),
    };
    let least = changes.unsteady.passage.delay.as_ref().map(|delay| Duration::from_ps(delay.least()));
    let delay = match (view.duration("delay")?, least) {
        (Some(delay), Some(least)) if least < delay => {
            let fault = view.fault("delay", format!("the delay_trace goes down to {}", TIME.format(least.as_ps())));
            return Err(fault.expected("a `delay` that is the least there is, or none"));
        }
        (written, least) => written.or(least).or(other.and_then(|w| w.delay)),
    };
    let way = Direction {
        rate,
        delay,
        mtu: small("mtu", usual.mtu)?,
        cells: usual.cells,
        overhead: small("overhead", usual.overhead)?,
        min_frame: small("min_frame", usual.min_frame)?,
        loss,
        changes,
        pause,
        bottleneck: view.boolean("bottleneck")?,
        front,
    };
    if way.cells {
        check_cells(view, &way)?;
    }
    Ok(way)
}

fn pause(view: &View<'_>) -> Result<Pause, Fault> {
    let on = view.integer("on")?.ok_or_else(|| {
        view.fault("on", "flow control needs to know when").expected("what the queue holds then, such as on = \"400 kB\"")
    })?;
    let off = view.integer("off")?.unwrap_or(on / 2);
    if off >= on {
        return Err(view.fault("off", "whoever is stopped would have to go on at once").expected("less than `on`"));
    }
    Ok(Pause { on, off, quanta: view.integer("quanta")?.unwrap_or(65_535) })
}

fn check_cells(view: &View<'_>, way: &Direction<'_>) -> Result<(), Fault> {
    if way.mtu + way.overhead > aal5::MAX_SDU {
        let fault = view.fault("mtu", format!("a packet of {} bytes with {} bytes of overhead fits no AAL5 frame", way.mtu, way.overhead));
        return Err(fault.expected(format!("an mtu of at most {} bytes", aal5::MAX_SDU.saturating_sub(way.overhead))));
    }
    if !way.changes.unsteady.is_steady() {
        let said = KEYS.into_iter().find(|name| view.get(name).is_some());
        let fault = view.fault(said.unwrap_or("type"), "a link that carries cells does not change, and treats all of them alike");
        return Err(fault.help("leave it out, or choose a type that carries frames"));
    }
    if way.min_frame > 0 {
        return Err(view.fault("min_frame", "cells are all of one size").help("leave min_frame out, or choose a type that carries frames"));
    }
    Ok(())
}

fn loss(written: &Written<'_>) -> Result<Choice, Fault> {
    let choice = written.choice(&LOSS)?;
    (loss::named(choice.kind).check)(&choice.params).map_err(|sentence| written.fault(sentence))?;
    Ok(choice)
}

/// Returns the fault of a `kind` in front of `link` that was checked and cannot work. It points at the place where it is `written`, or at
/// the link.
pub(super) fn cannot_work(kind: &str, link: &Link, sentence: &str, written: Option<&Written<'_>>, place: &Written<'_>) -> Fault {
    written.unwrap_or(place).fault(format!("the {kind} of link `{}` cannot work: {sentence}", link.name))
}
