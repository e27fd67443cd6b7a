//! A congestion control written in Python: each hook of the sender's control calls a method of an object.
//!
//! The window of such a control is the [`Window`] that controls in Rust have. It lives here, where the sender asks for it many times
//! an ACK, and is lent to the Python object for the time of a call.

use crate::choose::LongfatError;
use crate::samples::{PyAck, PyCongestion, PyWindow, number};
use longfat_core::promise::Promise;
use longfat_core::time::Time;
use longfat_core::units::Rate;
use longfat_tcp::TcpConfig;
use longfat_tcp::conformance;
use longfat_tcp::congestion::{
    AckSample, Claim, CongestionControl, CongestionEvent, ControlKind, Established, PathModel, PrrUse, Traits, Unused, Window, extensions,
};
use longfat_tcp::ecn::EcnUse;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// Exception that a hook raised in this thread, not yet reported. The run ends soon after.
    static FAILURE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Takes the exception that a hook has raised in this thread since the last call.
pub(crate) fn take_failure() -> Option<PyErr> {
    FAILURE.with(|failure| failure.borrow_mut().take())
}

/// The failure of a hook as an error, if there was one.
pub(crate) fn raised() -> PyResult<()> {
    take_failure().map_or(Ok(()), Err)
}

fn fail(error: PyErr) {
    FAILURE.with(|failure| {
        failure.borrow_mut().get_or_insert(error);
    });
}

/// True if a hook has raised an exception in this thread.
pub(crate) fn has_failed() -> bool {
    FAILURE.with(|failure| failure.borrow().is_some())
}

/// The classes by the names of their controls. A name stays; its class may be replaced.
static CLASSES: Mutex<BTreeMap<&'static str, Py<PyAny>>> = Mutex::new(BTreeMap::new());

/// Makes `class` the congestion control `name`. `source` says what it was made from, and `claims` what it promises: the kind of each [`Claim`], its least and
/// its greatest value.
#[pyfunction]
pub(crate) fn register_control(name: &str, summary: &str, source: &str, class: Py<PyAny>, claims: Vec<(String, f64, f64)>) -> PyResult<()> {
    let name = extensions::leak(name);
    let promises: Vec<Promise<Claim>> = claims.iter().map(|(kind, least, most)| promise(kind, *least, *most)).collect();
    let kind = ControlKind {
        name,
        summary: extensions::leak(summary),
        source: extensions::leak(source),
        params: &[],
        linux: &[],
        ecn: EcnUse::CLASSIC,
        promises: Box::leak(promises.into_boxed_slice()),
        build: |config| Box::new(PythonControl::new(config)),
    };
    if !extensions::add(kind) {
        return Err(LongfatError::new_err(format!("longfat has a congestion control called `{name}`: give yours another name")));
    }
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner).insert(name, class);
    Ok(())
}

/// Claim of a class, as `longfat.Promises` has it.
fn promise(kind: &str, least: f64, most: f64) -> Promise<Claim> {
    let claim = match kind {
        "uses" => Claim::Uses(least),
        "queue_bdp" => Claim::QueuesBdp { least, most },
        "queue_segments" => Claim::QueuesSegments { least, most },
        "shares" => Claim::Shares(least),
        "beside_cubic" => Claim::BesideCubic { least, most },
        _ => unreachable!("longfat.Promises has no {kind}"),
    };
    Promise::new(claim, "its class")
}

/// Check of a control: what it asks, what a run showed of it (empty without a run), and `None` or why it is not kept.
type Checked = (String, String, Option<String>);

/// Checks what every control must do, and what the control promises of whole runs.
#[pyfunction]
pub(crate) fn conformance_checks(py: Python<'_>, name: &str) -> PyResult<Vec<Checked>> {
    use longfat_tcp::congestion;
    let kind = congestion::find(name)
        .ok_or_else(|| crate::choose::unknown(&format!("no congestion control is called `{name}`"), name, congestion::NAMES))?;
    take_failure();
    let mut found = Vec::new();
    for check in conformance::CHECKS {
        let why = (check.run)(kind).err();
        raised()?;
        found.push((check.name.to_owned(), String::new(), why.map(|why| format!("{name}: {why}"))));
        py.check_signals()?;
    }
    let runs = longfat_sim::conformance::control(kind, &mut || {
        py.check_signals().unwrap_or_else(fail);
        !has_failed()
    });
    raised()?;
    let findings = runs.map_err(|error| LongfatError::new_err(error.to_string()))?;
    found.extend(findings.into_iter().map(|finding| (finding.claim, finding.measured, finding.fault)));
    Ok(found)
}

/// A control that is a Python object.
struct PythonControl {
    window: Window,
    pacing_rate: Option<Rate>,
    /// The object's `window`, into which [`Self::window`] goes for the time of a call.
    lent: Py<PyWindow>,
    hooks: Hooks,
}

/// Object of a control, and its methods that are hooks.
struct Hooks {
    object: Py<PyAny>,
    on_ack: Option<Py<PyAny>>,
    on_congestion: Option<Py<PyAny>>,
    on_established: Option<Py<PyAny>>,
    on_sample: Option<Py<PyAny>>,
    on_spurious: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    on_restart: Option<Py<PyAny>>,
    on_syn_loss: Option<Py<PyAny>>,
    wants_rate: bool,
    steers_itself: bool,
}

impl Hooks {
    /// An object of `class`, whose `window` is there when `__init__` runs.
    fn of(class: &Bound<'_, PyAny>, window: &Py<PyWindow>) -> PyResult<Self> {
        let object = class.call_method1("__new__", (class,))?;
        object.setattr("window", window)?;
        object.call_method0("__init__")?;
        let hook = |name: &str| object.getattr_opt(name).map(|hook| hook.map(Bound::unbind));
        let is_true = |name: &str| object.getattr_opt(name)?.map_or(Ok(false), |value| value.is_truthy());
        Ok(Hooks {
            on_ack: hook("on_ack")?,
            on_congestion: hook("on_congestion")?,
            on_established: hook("on_established")?,
            on_sample: hook("on_sample")?,
            on_spurious: hook("on_spurious")?,
            on_recovered: hook("on_recovered")?,
            on_restart: hook("on_restart")?,
            on_syn_loss: hook("on_syn_loss")?,
            wants_rate: is_true("wants_rate")?,
            steers_itself: is_true("steers_itself")?,
            object: object.unbind(),
        })
    }

    /// Makes the hooks of an object that could not be made: the run ends soon.
    fn none(py: Python<'_>) -> Self {
        Hooks {
            object: py.None(),
            on_ack: None,
            on_congestion: None,
            on_established: None,
            on_sample: None,
            on_spurious: None,
            on_recovered: None,
            on_restart: None,
            on_syn_loss: None,
            wants_rate: false,
            steers_itself: false,
        }
    }
}

impl std::fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonControl").field("window", &self.window).finish_non_exhaustive()
    }
}

impl PythonControl {
    fn new(config: &TcpConfig) -> Self {
        let name = config.congestion_control.kind;
        Python::attach(|py| {
            let class = CLASSES.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(|class| class.clone_ref(py));
            let class = class.unwrap_or_else(|| panic!("no class is registered as {name}"));
            let lent = Py::new(py, PyWindow(Window::new(config))).expect("there is memory for a window");
            let hooks = Hooks::of(class.bind(py), &lent).unwrap_or_else(|error| {
                fail(error);
                Hooks::none(py)
            });
            // Continue with the window that `__init__` has made.
            let window = lent.borrow(py).0.clone();
            let mut control = PythonControl { window, pacing_rate: None, lent, hooks };
            control.read_attributes(py).unwrap_or_else(fail);
            control
        })
    }

    /// Calls the hook that `of` chooses with what `argument` makes. `false`: there is no such hook.
    fn call<A>(&mut self, of: fn(&Hooks) -> &Option<Py<PyAny>>, argument: impl FnOnce(Python<'_>) -> PyResult<A>) -> bool
    where
        A: for<'py> pyo3::call::PyCallArgs<'py>,
    {
        if of(&self.hooks).is_none() {
            return false;
        }
        if has_failed() {
            return true;
        }
        Python::attach(|py| {
            std::mem::swap(&mut self.lent.borrow_mut(py).0, &mut self.window);
            let hook = of(&self.hooks).as_ref().expect("it is there").bind(py);
            let done = argument(py).and_then(|argument| hook.call1(argument)).map(drop);
            std::mem::swap(&mut self.lent.borrow_mut(py).0, &mut self.window);
            done.and_then(|()| self.read_attributes(py)).unwrap_or_else(fail);
        });
        true
    }

    /// The object's `pacing_rate`, in bits per second, or `None`. `window` stays the one that it was given.
    fn read_attributes(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.hooks.object.bind(py);
        if object.is_none() {
            return Ok(());
        }
        let window = object.getattr_opt(pyo3::intern!(py, "window"))?;
        if !window.as_ref().is_some_and(|window| window.is(&self.lent)) {
            let found = window.map_or_else(|| Ok("gone".to_owned()), |window| window.repr().map(|text| text.to_string()))?;
            return Err(LongfatError::new_err(format!("window = {found}: expected the `longfat.Window` that was there; set window.cwnd")));
        }
        self.pacing_rate = match object.getattr_opt(pyo3::intern!(py, "pacing_rate"))? {
            Some(value) if !value.is_none() => {
                Some(Rate::from_bps(number("pacing_rate", &value, 1.0..=1e14, "bits per second, from 1 to 1e14, or None")? as u64))
            }
            _ => None,
        };
        Ok(())
    }
}

impl CongestionControl for PythonControl {
    fn window(&self) -> Option<&Window> {
        Some(&self.window)
    }
    fn window_mut(&mut self) -> Option<&mut Window> {
        Some(&mut self.window)
    }
    fn on_sample(&mut self, ack: &AckSample) {
        let ack = *ack;
        self.call(|hooks| &hooks.on_sample, |py| Ok((Py::new(py, PyAck(ack))?,)));
    }
    fn on_ack(&mut self, ack: &AckSample) {
        let ack = *ack;
        self.call(|hooks| &hooks.on_ack, |py| Ok((Py::new(py, PyAck(ack))?,)));
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        let event = *event;
        self.call(|hooks| &hooks.on_congestion, |py| Ok((Py::new(py, PyCongestion(event))?,)));
    }
    fn on_spurious(&mut self) {
        if !self.call(|hooks| &hooks.on_spurious, |_| Ok(())) {
            self.window.undo();
        }
    }
    fn on_unused(&mut self, unused: Unused) {
        let heard = matches!(unused, Unused::Idle(idle) if self.call(|hooks| &hooks.on_restart, |_| Ok((idle.as_secs_f64(),))));
        if !heard {
            self.window.unused(unused);
        }
    }
    fn on_recovered(&mut self, now: Time) {
        self.call(|hooks| &hooks.on_recovered, |_| Ok((now.as_secs_f64(),)));
        self.window.recovered();
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    fn traits(&self) -> Traits {
        let prr = if self.hooks.steers_itself { PrrUse::Never } else { PrrUse::Reductions };
        Traits { prr, wants_rate: self.hooks.wants_rate, wants_forward_delay: true, ..Traits::WINDOW }
    }
    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }
}

impl PathModel for PythonControl {
    fn on_established(&mut self, established: &Established) {
        let seed = established.seed;
        self.call(|hooks| &hooks.on_established, |_| Ok((seed,)));
    }
    fn on_syn_loss(&mut self) {
        if !self.call(|hooks| &hooks.on_syn_loss, |_| Ok(())) {
            self.window.syn_loss();
        }
    }
}
