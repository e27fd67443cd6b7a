//! The real hosts of a run between them: two nodes, and no link that anybody controls.

use super::network::{Plan, Side};
use crate::backend::Backend;
use crate::error::Fault;
use crate::fields;
use crate::view::View;
use longfat_model::{Live, LiveHost, NodeKind};

/// Longest address: that of a name (RFC 1035, section 2.3.4) and a port.
const LONGEST: usize = 262;

/// The real hosts of `file`, and their network, if `backend` runs between them.
pub(super) fn hosts<'a>(file: &View<'a>, backend: &Backend) -> Result<Option<(Live, Plan<'a>)>, Fault> {
    if !backend.is_live() {
        return Ok(None);
    }
    let Some(view) = file.sub("live", fields::live()) else {
        let fault = file.fault("backend", format!("the backend `{}` runs between two hosts, and the file names none", backend.name));
        return Err(fault.help("add a `[[live.host]]` for each: a `name`, and `at`, which is \"local\" for this one"));
    };
    let mut plan = Plan::default();
    let mut hosts = Vec::new();
    for at in view.items("host") {
        let host = View::new(at, fields::live_host());
        let name = host.text("name").unwrap_or_default();
        if name.is_empty() || plan.named(name).is_some() {
            return Err(host.fault("name", format!("there are two hosts `{name}`")).help("give each a `name` of its own"));
        }
        let at = host.text("at").unwrap_or_default();
        if at.is_empty() || at.len() > LONGEST || at.contains(char::is_whitespace) {
            return Err(host
                .fault("at", "this is no address")
                .expected("\"local\", \"dtn.example.org\", \"192.0.2.1:5277\" or \"[2001:db8::1]:5277\""));
        }
        if at == Live::LOCAL && host.get("key").is_some() {
            return Err(host.fault("key", "this host needs no key").help("say it of the other one, where `longfat serve` runs"));
        }
        plan.node(name.to_owned(), NodeKind::Host);
        hosts.push(LiveHost { at: at.to_owned(), key: host.text("key").map(str::to_owned) });
    }
    let local: Vec<usize> = (0..hosts.len()).filter(|host| hosts[*host].at == Live::LOCAL).collect();
    let ([local], 2) = (&local[..], hosts.len()) else {
        let fault = view.fault("host", format!("there are {} hosts, of which {} are local", hosts.len(), local.len()));
        return Err(fault.expected("two, one of them with at = \"local\""));
    };
    plan.sides = vec![
        Side { name: "left", hosts: vec![*local], said_by: "`[[live.host]]`" },
        Side { name: "right", hosts: vec![1 - *local], said_by: "`[[live.host]]`" },
    ];
    let written = backend.uncontrolled.iter().filter(|key| file.get(key).is_some()).map(|key| (*key).to_owned());
    let stored = view.items("uncontrolled").into_iter().filter_map(|at| at.node.as_text().map(str::to_owned));
    let uncontrolled = written.chain(stored).collect();
    let spread = view.duration("spread")?.unwrap_or_default();
    let survey = view.boolean("survey")?;
    let capture = view.boolean("capture")?;
    Ok(Some((Live { hosts, spread, survey, capture, uncontrolled }, plan)))
}
