//! Names that the page shows: registries with summaries and parameters, and flows.

use longfat_core::params::ParamSpec;
use longfat_core::{link::loss, queue, traffic};
use longfat_model::Experiment;
use longfat_record::{metric, warning};
use longfat_tcp::{congestion, stack, window_sizing};
use serde_json::{Value, json};

/// Returns what the page offers, by kind: a list of `{name, summary, params: [{name, kind, default, required, doc}]}`.
pub(crate) fn registries() -> Value {
    let metric = |m: &metric::Metric| json!({ "name": m.name, "summary": m.summary, "unit": m.unit });
    let warning = |w: &warning::Warning| json!({ "name": w.name, "summary": w.summary, "advice": w.advice });
    json!({
        "queues": queue::REGISTRY.iter().map(|e| entry(e.name, e.summary, e.params)).collect::<Vec<_>>(),
        "losses": loss::REGISTRY.iter().map(|e| entry(e.name, e.summary, e.params)).collect::<Vec<_>>(),
        "controls": congestion::REGISTRY.iter().map(|e| entry(e.name, e.summary, e.params)).collect::<Vec<_>>(),
        "window_sizings": window_sizing::REGISTRY.iter().map(|e| entry(e.name, e.summary, e.params)).collect::<Vec<_>>(),
        "traffic": traffic::REGISTRY.iter().map(|e| entry(e.name, e.summary, e.params)).collect::<Vec<_>>(),
        "stacks": stack::REGISTRY.iter().map(|e| entry(e.name, e.summary, &[])).collect::<Vec<_>>(),
        "metrics": metric::REGISTRY.iter().map(metric).collect::<Vec<_>>(),
        "warnings": warning::REGISTRY.iter().map(warning).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn entry(name: &str, summary: &str, params: &[ParamSpec]) -> Value {
    let param = |spec: &ParamSpec| {
        let default = spec.default.map(|value| spec.kind.write(value).unwrap_or_else(|| "auto".into()));
        json!({ "name": spec.name, "kind": spec.kind.expectation(), "default": default, "required": spec.default.is_none(), "doc": spec.doc })
    };
    json!({ "name": name, "summary": summary, "params": params.iter().map(param).collect::<Vec<_>>() })
}

/// Names of the flows as plots have them: the group, with a number where it has several.
pub(crate) fn flows(experiment: &Experiment) -> Vec<String> {
    let several = |group: &str| experiment.flows.iter().filter(|flow| &*flow.group == group).nth(1).is_some();
    let with_number = experiment.flow_names();
    experiment.flows.iter().zip(with_number).map(|(flow, name)| if several(&flow.group) { name } else { flow.group.to_string() }).collect()
}
