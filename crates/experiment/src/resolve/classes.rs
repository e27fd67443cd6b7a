//! Classes of queues that go by whose packets they are: what their names stand for, and whether such packets come that way.

use super::line::Front;
use super::network::{Plan, some};
use crate::error::Fault;
use crate::shape::QUEUE;
use crate::shape::fields_of;
use crate::tree::path_text;
use crate::view::{View, Written};
use longfat_core::params::{Choice, Kept, Kind, Params, Value};
use longfat_core::queue::{self, GROUP, HOST, Party, Share};
use longfat_model::made;
use longfat_model::route::Routes;
use longfat_model::{Flow, Network};
use std::collections::{BTreeMap, BTreeSet};

/// True if a class has names, in a queue with these parameters or inside of it.
fn has_names(params: &Params) -> bool {
    params.0.iter().any(|(_, value)| match value {
        Value::Names(_) => true,
        Value::Queue(choice) => has_names(&choice.params),
        Value::Tables(tables) => tables.all().iter().any(has_names),
        _ => false,
    })
}

/// The queue as it is written, with the names of hosts for names that stand for several. Names must be those of something.
pub(super) fn named(choice: Choice, written: &Written<'_>, plan: &Plan<'_>, flows: &[Flow]) -> Result<Choice, Fault> {
    if !has_names(&choice.params) {
        return Ok(choice);
    }
    queue_named(&choice, written, plan, flows)
}

fn queue_named(choice: &Choice, written: &Written<'_>, plan: &Plan<'_>, flows: &[Flow]) -> Result<Choice, Fault> {
    let (kind, view) = written.variant(&QUEUE)?;
    Ok(Choice { kind, params: params_named(&choice.params, &view, plan, flows)? })
}

fn params_named(params: &Params, view: &View<'_>, plan: &Plan<'_>, flows: &[Flow]) -> Result<Params, Fault> {
    let settled = |name: &'static str, value: Value| {
        Ok(match value {
            Value::Names(_) if name == HOST.name => Value::Names(Kept::from(hosts(view, plan)?)),
            Value::Names(_) if name == GROUP.name => Value::Names(Kept::from(groups(view, flows)?)),
            Value::Queue(choice) => {
                let written = view.written(name).expect("a queue that is no default is written");
                Value::Queue(Kept::from(queue_named(&choice, &written, plan, flows)?))
            }
            Value::Tables(tables) => {
                let each = tables.all().iter().zip(within(view, name));
                Value::Tables(Kept::from(each.map(|(table, view)| params_named(table, &view, plan, flows)).collect::<Result<Vec<_>, _>>()?))
            }
            value => value,
        })
    };
    params.0.iter().map(|&(name, value)| Ok((name, settled(name, value)?))).collect::<Result<_, _>>().map(Params)
}

/// The tables at `name`.
fn within<'a>(view: &View<'a>, name: &str) -> Vec<View<'a>> {
    let Kind::Tables(keys) = view.kind(name) else { return Vec::new() };
    view.items(name).into_iter().map(|at| View::new(at, fields_of(keys.0))).collect()
}

fn hosts(view: &View<'_>, plan: &Plan<'_>) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for at in view.items(HOST.name) {
        let name = at.node.as_text().unwrap_or_default();
        let nodes = plan.hosts_or(HOST.name, name, &|message| at.fault(message).found(at.node.found()))?;
        all.extend(nodes.into_iter().map(|node| plan.network.nodes[node].name.clone()));
    }
    Ok(all)
}

fn groups(view: &View<'_>, flows: &[Flow]) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for at in view.items(GROUP.name) {
        let name = at.node.as_text().unwrap_or_default();
        if !flows.iter().any(|flow| *flow.group == *name) {
            let mut names: Vec<&str> = flows.iter().map(|flow| &*flow.group).collect();
            names.dedup();
            let fault = at.fault(format!("there is no flow `{name}`")).found(at.node.found());
            return Err(fault.expected(format!("`{}` = one of {}", GROUP.name, some(&names))).nearest(name, names));
        }
        all.push(name.to_owned());
    }
    Ok(all)
}

/// Checks that each class of the queues in front of the links gets packets, on at least one of the links that share its text.
pub(super) fn check(network: &Network, fronts: &[Front<'_>], flows: &[Flow]) -> Result<(), Fault> {
    let by_names: Vec<usize> = (0..fronts.len()).filter(|&i| has_names(&network.links[i].queue.params)).collect();
    if by_names.is_empty() {
        return Ok(());
    }
    let parties = parties(network, flows);
    let mut met = BTreeMap::new();
    for i in by_names {
        let written = fronts[i].queue.as_ref().expect("a queue that names somebody is written");
        look(&network.links[i].queue.params, &written.variant(&QUEUE)?.1, &parties[i], &mut met);
    }
    match met.into_values().find(|class| !class.gets) {
        None => Ok(()),
        Some(Class { at, number, is_of_somebody, .. }) => {
            let why = if is_of_somebody { "classes before it take all of it" } else { "nothing of that comes this way" };
            let fault = at.fault(format!("class {number} never gets a packet: {why}"));
            Err(fault.help("the first class that takes a packet has it, and `host` and `group` must both be right where both are given"))
        }
    }
}

/// Findings about a class at all the links that have it.
struct Class<'a> {
    at: Written<'a>,
    /// Number of the class in its queue, from 1.
    number: usize,
    gets: bool,
    /// True if the class would take some packets if it were the first.
    is_of_somebody: bool,
}

/// Records which of `parties` reach each class of a queue with these parameters, and of the queues inside it.
fn look<'a>(params: &Params, view: &View<'a>, parties: &[Party<'_>], met: &mut BTreeMap<String, Class<'a>>) {
    for &(name, value) in &params.0 {
        match value {
            Value::Queue(choice) => {
                if let Some(Ok((_, view))) = view.written(name).map(|at| at.variant(&QUEUE)) {
                    look(&choice.params, &view, parties, met);
                }
            }
            Value::Tables(tables) => {
                let mut classes: Vec<_> = tables.all().iter().zip(within(view, name)).zip(1..).collect();
                // Classes that take the rest come last, wherever they stand.
                classes.sort_by_key(|((class, _), _)| queue::share(class, &Party::default()) == Share::All);
                let mut left = parties.to_vec();
                for ((class, view), number) in classes {
                    let is_theirs = |party: &Party<'_>| queue::share(class, party) != Share::None;
                    let theirs: Vec<Party<'_>> = left.iter().copied().filter(is_theirs).collect();
                    if [GROUP.name, HOST.name].iter().any(|key| !class.is_auto(key)) {
                        let new = || Class { at: view.at.clone(), number, gets: false, is_of_somebody: false };
                        let seen = met.entry(path_text(&view.at.path)).or_insert_with(new);
                        seen.gets |= !theirs.is_empty();
                        seen.is_of_somebody |= parties.iter().any(is_theirs);
                        left.retain(|party| queue::share(class, party) != Share::All);
                    }
                    look(class, &view, &theirs, met);
                }
            }
            _ => {}
        }
    }
}

/// Returns the senders and receivers of the packets that come to each link.
fn parties<'a>(network: &'a Network, flows: &'a [Flow]) -> Vec<Vec<Party<'a>>> {
    let routes = Routes::new(network);
    let mut paths = BTreeMap::new();
    let mut found = vec![BTreeSet::new(); network.links.len()];
    for flow in flows {
        for ends in [(flow.from, flow.to), (flow.to, flow.from)] {
            for &link in paths.entry(ends).or_insert_with(|| routes.path(ends.0, ends.1).unwrap_or_default()).iter() {
                let moved = network.moves.iter().filter(|step| step.link == link).map(|step| step.by);
                for link in moved.chain([link]) {
                    found[link].insert(made::party(network, flow));
                }
            }
        }
    }
    found.into_iter().map(|parties| parties.into_iter().collect()).collect()
}
