//! Policies: small networks that decide.

use super::action::{Action, Command, Space};
use super::meter::Clock;
use super::moment::{From, Moment};
use super::observation::{self, Field};

/// Layer of a network: `tanh(inputs x weights + bias)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// Rows of the matrix: for each input its weight at each output.
    pub weights: Vec<Vec<f64>>,
    /// Bias of each output.
    pub bias: Vec<f64>,
}

/// Network that turns an observation into an action from -1 to 1, with what it observes and sets.
#[derive(Clone, Debug)]
pub struct Policy {
    fields: Vec<&'static Field>,
    action: &'static Action,
    params: Vec<f64>,
    clock: Clock,
    layers: Vec<Layer>,
}

/// Checks that a control by name can observe `fields` and take `action`.
///
/// # Errors
/// Why it cannot.
pub fn allowed(fields: &[&'static Field], action: &Action) -> Result<(), String> {
    if let Some(field) = fields.iter().find(|field| field.from != From::Hooks) {
        return Err(format!(
            "`{}` cannot be observed by a control by name: it comes from {}, which its hooks do not tell",
            field.name,
            field.from.name()
        ));
    }
    if action.needs_own || action.space != Space::Unit {
        let why = if action.needs_own { "it needs one beside it" } else { "a policy gives a number from -1 to 1, and not a choice" };
        return Err(format!("`{}` cannot be a control by name: {why}", action.name));
    }
    Ok(())
}

impl Policy {
    /// A policy that observes `fields` and sets `action`, with the values `params` of its parameters, whenever `clock` says.
    ///
    /// # Errors
    /// Observations and actions that a control by name cannot have; layers that do not fit to each other.
    pub fn new(
        fields: Vec<&'static Field>,
        action: &'static Action,
        params: Vec<f64>,
        clock: Clock,
        layers: Vec<Layer>,
    ) -> Result<Self, String> {
        allowed(&fields, action)?;
        let mut width = observation::width(&fields);
        for (layer, number) in layers.iter().zip(1..) {
            let (inputs, outputs) = (layer.weights.len(), layer.bias.len());
            if inputs != width || layer.weights.iter().any(|row| row.len() != outputs) {
                return Err(format!(
                    "layer {number} of the policy: expected {width} rows of weights, each as long as its bias ({outputs})"
                ));
            }
            width = outputs;
        }
        if layers.is_empty() || width != 1 {
            return Err(format!("the policy's last layer has {width} outputs: expected 1"));
        }
        Ok(Policy { fields, action, params, clock, layers })
    }

    /// When its decisions are due.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the action for an observation, from -1 to 1.
    pub fn act(&self, observation: &[f32]) -> f64 {
        let mut values: Vec<f64> = observation.iter().map(|value| f64::from(*value)).collect();
        for layer in &self.layers {
            let output = |(out, bias): (usize, &f64)| {
                libm::tanh(values.iter().zip(&layer.weights).map(|(value, row)| value * row[out]).sum::<f64>() + bias)
            };
            values = layer.bias.iter().enumerate().map(output).collect();
        }
        values[0]
    }

    /// Decides, with what was measured since the last decision.
    pub fn decide(&self, moment: &Moment) -> Command {
        let mut observation = vec![0.0; observation::width(&self.fields)];
        observation::write(&self.fields, moment, &mut observation);
        (self.action.of)(&self.params, self.act(&observation).clamp(-1.0, 1.0), moment)
    }
}

#[cfg(test)]
mod tests {
    use super::super::action;
    use super::*;

    fn policy(layers: Vec<Layer>) -> Result<Policy, String> {
        let fields = ["cwnd", "rtt"].map(|name| observation::find(name).unwrap()).to_vec();
        Policy::new(fields, action::find("cwnd_factor").unwrap(), vec![2.0], Clock::Round, layers)
    }

    fn layer(weights: &[&[f64]], bias: &[f64]) -> Layer {
        Layer { weights: weights.iter().map(|row| row.to_vec()).collect(), bias: bias.to_vec() }
    }

    /// The numbers are numpy's: `np.tanh(np.tanh(x @ w + b) @ v + c)`.
    #[test]
    fn acts_as_the_network_in_numpy() {
        let layers = vec![layer(&[&[0.5, -1.0], &[2.0, 0.25], &[-0.75, 1.5]], &[0.1, -0.2]), layer(&[&[1.25], &[-0.5]], &[0.05])];
        let policy = policy(layers).unwrap();
        assert!((policy.act(&[0.25, 0.5, 1.0]) - 0.18760507574967777).abs() < 1e-15);
    }

    /// A window of 16 segments, whose logarithm is 0.25, and no round trip: tanh(0.25) doublings.
    #[test]
    fn decides_by_what_it_observes() {
        let policy = policy(vec![layer(&[&[1.0], &[0.0], &[0.0]], &[0.0])]).unwrap();
        let moment = Moment { cwnd: 16_000.0, mss: 1000.0, ..Moment::default() };
        let wanted = 16_000.0 * libm::exp2(libm::tanh(0.25));
        assert_eq!(policy.decide(&moment), Command { cwnd: Some(wanted as u64), pacing_rate: None });
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        for (layers, message) in [
            (vec![], "the policy's last layer has 3 outputs: expected 1"),
            (vec![layer(&[&[1.0]], &[0.0])], "layer 1 of the policy: expected 3 rows of weights, each as long as its bias (1)"),
            (
                vec![layer(&[&[1.0], &[1.0], &[1.0, 2.0]], &[0.0])],
                "layer 1 of the policy: expected 3 rows of weights, each as long as its bias (1)",
            ),
        ] {
            assert_eq!(policy(layers).unwrap_err(), message);
        }
    }
}
