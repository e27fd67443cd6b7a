//! What the application at the sending end does.

use crate::error::Fault;
use crate::fields::TRAFFIC;
use crate::model::Traffic;
use crate::view::View;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::traffic::{Schedule, Spell, Web};
use longfat_core::units::Rate;
use longfat_core::units::text::{RATE, TIME};

/// What the flow `view` says of its traffic.
pub fn traffic(view: &View<'_>) -> Result<Traffic, Fault> {
    let Some(written) = view.written("traffic") else { return Ok(Traffic::Bulk) };
    match written.variant(&TRAFFIC)? {
        ("ttcp", view) => Ok(Traffic::Ttcp { volume: view.integer("volume")?.unwrap_or(1) }),
        ("ping", view) => Ok(Traffic::Ping {
            interval: view.duration("interval")?.unwrap_or(Duration::from_secs(1)),
            size: view.integer("size")?.unwrap_or(84) as u32,
        }),
        ("udp", view) => udp(&view),
        ("sinusoid", view) => sinusoid(&view),
        ("on_off", view) => on_off(&view),
        ("writes", view) => writes(&view),
        ("telnet", view) => telnet(&view),
        ("web", view) => Ok(Traffic::Web(Web {
            size: view.integer("size")?.unwrap_or(1),
            shape: view.number("shape")?.unwrap_or(2.0),
            think: view.duration("think")?.unwrap_or(Duration::ZERO),
            think_shape: view.number("think_shape")?,
        })),
        _ => Ok(Traffic::Bulk),
    }
}

fn rate(view: &View<'_>, name: &str) -> Result<Rate, Fault> {
    match view.value(name)? {
        Value::Rate(rate) => Ok(rate),
        other => panic!("{name} is {other:?}, not a rate"),
    }
}

fn size(view: &View<'_>) -> Result<u32, Fault> {
    Ok(view.integer("size")?.map_or(1500, |n| n as u32))
}

fn udp(view: &View<'_>) -> Result<Traffic, Fault> {
    let (rate, size) = (rate(view, "rate")?, size(view)?);
    let schedule = match (view.duration("on")?, view.duration("off")?) {
        (None, None) => Schedule::Constant { rate },
        (Some(on), Some(off)) => {
            let spell = |mean| Spell { mean, shape: None };
            Schedule::OnOff { rate, on: spell(on), off: spell(off) }
        }
        (on, _) => {
            let (there, missing) = if on.is_some() { ("on", "off") } else { ("off", "on") };
            return Err(view.fault(there, format!("there is `{there}` without `{missing}`")).expected("both, or neither"));
        }
    };
    checked(view, schedule, size)
}

fn on_off(view: &View<'_>) -> Result<Traffic, Fault> {
    let spell = |mean: &str, shape: &str| -> Result<Spell, Fault> {
        Ok(Spell { mean: view.duration(mean)?.unwrap_or(Duration::ZERO), shape: view.number(shape)? })
    };
    let schedule = Schedule::OnOff { rate: rate(view, "rate")?, on: spell("on", "on_shape")?, off: spell("off", "off_shape")? };
    checked(view, schedule, size(view)?)
}

/// Someone types. "At random times" (Romanow and Floyd 1995, appendix A) is taken as a Poisson process. Departs from what people
/// type: Danzig and Jamin 1991 (tcplib) and Paxson and Floyd 1995 found gaps with a heavy tail.
fn telnet(view: &View<'_>) -> Result<Traffic, Fault> {
    let interval = view.duration("interval")?.unwrap_or(Duration::from_secs(1));
    let size = view.integer("size")?.unwrap_or(1);
    let rate = Rate::from_bps((u128::from(size) * 8_000_000_000_000 / u128::from(interval.as_ps())).max(1) as u64);
    Ok(Traffic::Writes { schedule: Schedule::Random { rate, shape: None }, size: size as u32 })
}

fn writes(view: &View<'_>) -> Result<Traffic, Fault> {
    let rate = rate(view, "rate")?;
    let schedule = match view.word("gaps")? {
        Some("poisson") => Schedule::Random { rate, shape: None },
        Some("pareto") => Schedule::Random { rate, shape: view.number("shape")? },
        _ => Schedule::Constant { rate },
    };
    Ok(Traffic::Writes { schedule, size: view.integer("size")?.map_or(1460, |n| n as u32) })
}

/// A flow whose times on have no room for a packet is a mistake.
fn checked(view: &View<'_>, schedule: Schedule, size: u32) -> Result<Traffic, Fault> {
    if let Schedule::OnOff { rate, on, .. } = schedule
        && on.mean < rate.transmit_time(size.into())
    {
        let least = TIME.format(rate.transmit_time(size.into()).as_ps());
        return Err(view.fault("on", "a packet takes longer than it is on").expected(format!("at least {least}, the time of a packet")));
    }
    Ok(Traffic::Udp { schedule, size })
}

fn sinusoid(view: &View<'_>) -> Result<Traffic, Fault> {
    let (mean, amplitude) = (rate(view, "mean")?, rate(view, "amplitude")?);
    if amplitude > mean {
        let most = RATE.format(mean.as_bps());
        return Err(view.fault("amplitude", "the rate would fall below nothing").expected(format!("at most the mean, {most}")));
    }
    let period = view.duration("period")?.unwrap_or(Duration::ZERO);
    Ok(Traffic::Udp { schedule: Schedule::Sinusoid { mean, amplitude, period }, size: size(view)? })
}
