//! Agents: policies that steer senders. The kernel's program measures, and sets the window that it is ordered; here is what decides.

use std::sync::Arc;

use longfat_bpf::{Order, Steered};
use longfat_core::time::{Duration, Time};
use longfat_tcp::congestion::agent::moment::Moment;
use longfat_tcp::congestion::agent::{Clock, Meter, Policy};

use crate::Error;
use crate::linux::flow::Ends;

/// Time between two looks at up to [`AT_ONCE`] agents, which is the latest that a decision comes. Twice as many are looked at half as often.
const LOOK: Duration = Duration::from_millis(1);
const AT_ONCE: u64 = 64;

/// All agents of a run.
#[derive(Debug)]
pub struct Agents {
    steered: Arc<Steered>,
    agents: Vec<Agent>,
    look_every: Duration,
    next_look: Time,
}

/// A policy that steers a flow.
#[derive(Debug)]
struct Agent {
    flow: usize,
    policy: &'static Policy,
    meter: Meter,
    mss: u64,
    order: Order,
    /// Window in bytes and pacing rate that the policy has set.
    cwnd: Option<u64>,
    pacing_bps: f64,
}

/// A flow that a policy steers: its number, the policy, and the payload of its segments.
pub type Steers = (usize, &'static Policy, u64);

fn failed(error: longfat_bpf::Error) -> Error {
    Error::system(longfat_bpf::AGENT, error)
}

impl Agents {
    /// These policies for `flows`, none of which is connected yet.
    pub fn new(steered: Arc<Steered>, policies: &[Steers], flows: &[Ends]) -> Result<Self, Error> {
        let mut agents = Vec::new();
        for (flow, policy, mss) in policies {
            let every = if let Clock::Time(every) = policy.clock() { every.as_ps() / 1_000_000 } else { 0 };
            let order = Order { every, ..Order::default() };
            if let Ends::Tcp(tcp) = &flows[*flow]
                && let Some(socket) = tcp.sender.socket()
            {
                steered.begin(socket, order).map_err(failed)?;
                agents.push(Agent { flow: *flow, policy, meter: Meter::new(*mss), mss: *mss, order, cwnd: None, pacing_bps: f64::NAN });
            }
        }
        let look_every = LOOK.saturating_mul((agents.len() as u64).div_ceil(AT_ONCE).max(1));
        Ok(Agents { steered, agents, look_every, next_look: Time::ZERO })
    }

    /// Returns the time of the next look.
    pub fn next_look(&self) -> Time {
        self.next_look
    }

    /// Looks at every flow, and decides where a step is over.
    pub fn look(&mut self, now: Time, flows: &[Ends]) -> Result<(), Error> {
        self.next_look = now + self.look_every;
        for agent in &mut self.agents {
            if let Ends::Tcp(tcp) = &flows[agent.flow]
                && let Some(socket) = tcp.sender.socket()
                && let Some(step) = self.steered.step(socket, agent.order.taken).map_err(failed)?
            {
                agent.decide(&step);
                self.steered.order(socket, agent.order).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl Agent {
    /// Takes the step, and makes the next order of it.
    fn decide(&mut self, step: &longfat_bpf::Step) {
        self.meter.take(step.measured(self.mss));
        let cwnd = self.cwnd.unwrap_or(step.cwnd * self.mss);
        let moment = Moment { cwnd: cwnd as f64, pacing_rate: self.pacing_bps, ..self.meter.decide(None) };
        let command = self.policy.decide(&moment);
        self.cwnd = Some(command.cwnd.unwrap_or(cwnd));
        self.pacing_bps = command.pacing_rate.map_or(f64::NAN, |rate| rate.as_bps() as f64);
        self.order.set(command, self.mss);
        self.order.taken = step.number;
    }
}
