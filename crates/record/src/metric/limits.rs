//! Limits of the senders: what each spent its time waiting for, the diagnosis of a run.

use super::{Bound, Metric, Scope, measured};
use crate::trace::{FlowRecord, Trace};
use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_tcp::LimitedBy;

/// Makes a metric of a run: the share of its measured flows' time that is due to one limit, or to none of them.
macro_rules! share {
    ($name:literal, $limit:expr, $summary:literal) => {
        Metric {
            name: $name,
            unit: "1",
            bound: Bound::Share,
            summary: concat!(
                $summary,
                ", over the time since the warmup (or the handshake, if later) until all was acknowledged (or the end of the run), of all measured flows together"
            ),
            source: "tcp_info of Linux; Mathis, Heffner and Reddy, Web100, 2003",
            compute: |experiment, trace| vec![(Scope::Run, share_of(experiment, trace, $limit))],
        }
    };
}

pub(super) const CWND: Metric =
    share!("cwnd_limited_share", Some(LimitedBy::Cwnd), "time in which the congestion window kept the sender from sending");
pub(super) const RWND: Metric = share!("rwnd_limited_share", Some(LimitedBy::Rwnd), "time in which the receiver's window did");
pub(super) const SNDBUF: Metric = share!("sndbuf_limited_share", Some(LimitedBy::SendBuffer), "time in which the send buffer did");
pub(super) const PACING: Metric = share!("pacing_limited_share", Some(LimitedBy::Pacing), "time in which pacing did");
pub(super) const HOST: Metric = share!("host_limited_share", Some(LimitedBy::Host), "time in which the sender's interface did");
pub(super) const APPLICATION: Metric = share!("application_limited_share", None, "time in which the application had nothing more to send");

/// NaN where no measured flow is TCP that was established.
fn share_of(experiment: &Experiment, trace: &Trace, limit: Option<LimitedBy>) -> f64 {
    let (mut of_it, mut of_all) = (0.0, 0.0);
    for i in measured(experiment) {
        let flow = &trace.flows[i];
        let is_whole = experiment.flows[i].is_measured_whole();
        let from = if is_whole { Time::ZERO } else { Time::ZERO + experiment.measure.warmup };
        let Some(life) = life_s(flow, from, trace) else { continue };
        let limits = flow.measured().limited_s;
        let limited: f64 = limits.iter().sum();
        if limited.is_nan() {
            continue;
        }
        of_all += life;
        of_it += match limit {
            Some(limit) => limits[limit as usize],
            None => (life - limited).max(0.0),
        };
    }
    if of_all > 0.0 { (of_it / of_all).min(1.0) } else { f64::NAN }
}

/// Returns the lifetime of the flow after `from`, in seconds.
fn life_s(flow: &FlowRecord, from: Time, trace: &Trace) -> Option<f64> {
    let end = flow.acked_all.or(flow.gave_up).unwrap_or(trace.end);
    flow.established.map(|established| established.max(from)).filter(|from| *from <= end).map(|from| end.since(from).as_secs_f64())
}
