//! Parameters of a tree of classes, the check that it can work, and its construction.

use super::turns::Turns;
use super::{Htb, Leaf, Node, Within};
use crate::params::{Keys, Kind, ParamSpec, Params, Value};
use crate::queue::QueueContext;
use crate::queue::bucket::Bucket;
use crate::queue::classes::{self, CLASS, Classifier, DSCP, ECN, GROUP, HASH, HOST};
use crate::queue::fifo::{Limit, Measure};
use crate::queue::inner::{QUEUE, inner, place_of_class};
use crate::queue::policer::rate_of;
use crate::units::{Capacity, Rate};

const BURST: ParamSpec = ParamSpec {
    name: "burst",
    kind: Kind::Capacity,
    default: Some(Value::Capacity(Capacity::Packets(4))),
    doc: "data sent at once, at its own rate, after a silence; a packet is one of the MTU",
};
const CBURST: ParamSpec = ParamSpec {
    name: "cburst",
    kind: Kind::Capacity,
    default: Some(Value::Capacity(Capacity::Packets(4))),
    doc: "data sent at once after a silence, not limited by `ceil`",
};

/// Parameters of a class. (A static: it names itself.)
static CLASSES: [ParamSpec; 13] = [
    DSCP,
    ECN,
    HASH,
    GROUP,
    HOST,
    ParamSpec { name: "rate", kind: Kind::Rate, default: None, doc: "guaranteed rate (IP packets)" },
    ParamSpec {
        name: "ceil",
        kind: Kind::Rate,
        default: Some(Value::Auto),
        doc: "most it gets, borrowed rate included (IP packets). When not given: its rate, so that it does not borrow",
    },
    ParamSpec {
        name: "prio",
        kind: Kind::Count { unit: "", min: 0, max: 7 },
        default: Some(Value::Count(0)),
        doc: "priority among classes that send at their own rates or borrow alike; the lowest number is served first",
    },
    ParamSpec {
        name: "quantum",
        kind: Kind::Bytes { min: 64, max: 1 << 24 },
        default: Some(Value::Auto),
        doc: "IP bytes that it sends in its turn among those that borrow alike. When not given: in proportion to the rates, and the MTU for the lowest rate",
    },
    BURST,
    CBURST,
    QUEUE,
    ParamSpec {
        name: CLASS,
        kind: Kind::Tables(Keys(&CLASSES)),
        default: Some(Value::Auto),
        doc: "classes in it, instead of a queue; these borrow from it",
    },
];

pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "rate",
        kind: Kind::Rate,
        default: Some(Value::Auto),
        doc: "rate of all classes together (IP packets). When not given: that of the link",
    },
    BURST,
    ParamSpec {
        name: CLASS,
        kind: Kind::Tables(Keys(&CLASSES)),
        default: Some(Value::Auto),
        doc: "the classes. When not given: one that takes everything",
    },
];

/// Returns the classes, or one that takes everything if none are given.
fn classes_of(params: &Params, rate: Rate) -> Vec<Params> {
    let given = params.tables(CLASS);
    if !given.is_empty() {
        return given.to_vec();
    }
    let mut class = Params::defaults(&CLASSES);
    class.set("rate", Value::Rate(rate));
    vec![class]
}

fn ceil_of(class: &Params) -> Rate {
    class.rate(if class.is_auto("ceil") { "rate" } else { "ceil" })
}

/// Returns the capacity of a bucket, in bytes.
fn bytes(params: &Params, name: &str, context: &QueueContext) -> u64 {
    let limit = Limit::new(params.capacity(name), context);
    match limit.measure {
        Measure::Bytes => limit.max,
        Measure::Packets => limit.max.saturating_mul(context.mtu.into()),
    }
}

fn check_burst(params: &Params, name: &str, context: &QueueContext) -> Result<(), String> {
    Limit { measure: Measure::Bytes, max: bytes(params, name, context) }.check_holds_a_packet(name, context)
}

pub(super) fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let rate = rate_of(params, context);
    if rate > context.rate {
        return Err(format!("rate ({}) is more than that of the link ({}), so that it shapes nothing", bps(rate), bps(context.rate)));
    }
    check_burst(params, BURST.name, context)?;
    check_classes(&classes_of(params, rate), rate, rate, context)
}

/// Returns the classes in one of this rate and this ceil.
fn check_classes(classes: &[Params], rate: Rate, ceil: Rate, context: &QueueContext) -> Result<(), String> {
    classes::check(classes)?;
    for (class, number) in classes.iter().zip(1..) {
        let told = |sentence: String| format!("class {number}: {sentence}");
        let (own, most) = (class.rate("rate"), ceil_of(class));
        if most < own {
            return Err(told(format!("ceil ({}) is under its rate ({})", bps(most), bps(own))));
        }
        if most > ceil {
            return Err(told(format!("ceil ({}) is more than what is around it may have ({})", bps(most), bps(ceil))));
        }
        [BURST, CBURST].iter().try_for_each(|spec| check_burst(class, spec.name, context)).map_err(told)?;
        let within = class.tables(CLASS);
        if !within.is_empty() {
            if class.queue(QUEUE.name).is_some() {
                return Err(told("it has classes in it, and so no `queue` of its own: give one to these".into()));
            }
            check_classes(within, own, most, context).map_err(told)?;
        }
    }
    let sum: u128 = classes.iter().map(|class| u128::from(class.rate("rate").as_bps())).sum();
    if sum > rate.as_bps().into() {
        return Err(format!("the rates of the classes ({sum} bit/s) add up to more than that of what is around them ({})", bps(rate)));
    }
    Ok(())
}

fn bps(rate: Rate) -> String {
    format!("{} bit/s", rate.as_bps())
}

pub(super) fn build(params: &Params, context: &QueueContext) -> Htb {
    let rate = rate_of(params, context);
    let burst = bytes(params, BURST.name, context);
    let all = |within| Node { parent: None, height: 0, rate: Bucket::full(rate, burst), ceil: Bucket::full(rate, burst), within };
    let mut tree = Tree { nodes: Vec::new(), leaves: Vec::new(), quanta: Vec::new() };
    let classes = classes_of(params, rate);
    tree.nodes.push(all(Within::Classes(Classifier::new(&classes, context), Vec::new())));
    tree.add(0, params, &classes, context);
    tree.lift();
    let quanta = tree.quanta(context.mtu);
    Htb { mtu: context.mtu, nodes: tree.nodes, leaves: tree.leaves, turns: Turns::new(quanta), rings: Vec::new() }
}

/// A tree under construction.
struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// Rate of each leaf, and its quantum where one is given.
    quanta: Vec<(Rate, Option<u64>)>,
}

impl Tree {
    /// Puts the classes of `params` into the node `parent`.
    fn add(&mut self, parent: usize, params: &Params, classes: &[Params], context: &QueueContext) {
        for (i, class) in classes.iter().enumerate() {
            let place = place_of_class(params, i, context);
            let (number, below) = (self.nodes.len(), class.tables(CLASS));
            let within = if below.is_empty() {
                Within::Leaf(self.leaves.len())
            } else {
                Within::Classes(Classifier::new(below, &place), Vec::new())
            };
            self.nodes.push(Node {
                parent: Some(parent),
                height: 0,
                rate: Bucket::full(class.rate("rate"), bytes(class, BURST.name, context)),
                ceil: Bucket::full(ceil_of(class), bytes(class, CBURST.name, context)),
                within,
            });
            if let Within::Classes(_, numbers) = &mut self.nodes[parent].within {
                numbers.push(number);
            }
            if below.is_empty() {
                self.leaves.push(Leaf { node: number, prio: class.integer("prio"), queue: inner(class, &place) });
                let quantum = (!class.is_auto("quantum")).then(|| class.integer("quantum"));
                self.quanta.push((class.rate("rate"), quantum));
            } else {
                self.add(number, class, below, &place);
            }
        }
    }

    /// Sets the height of each node.
    fn lift(&mut self) {
        for number in (1..self.nodes.len()).rev() {
            let (height, parent) = (self.nodes[number].height, self.nodes[number].parent.expect("the first alone has none"));
            self.nodes[parent].height = self.nodes[parent].height.max(height + 1);
        }
    }

    fn quanta(&self, mtu: u32) -> Vec<u64> {
        let lowest = self.quanta.iter().map(|(rate, _)| rate.as_bps()).min().unwrap_or(1).max(1);
        let usual = |rate: Rate| (u128::from(mtu) * u128::from(rate.as_bps()) / u128::from(lowest)) as u64;
        self.quanta.iter().map(|(rate, said)| said.unwrap_or_else(|| usual(*rate))).collect()
    }
}
