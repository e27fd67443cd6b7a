//! Runs a script against the host, in virtual time.

mod calls;
mod packets;

use crate::Options;
use crate::code::{self, Stop, Variables};
use crate::compare::{Sent, show, show_expected};
use crate::host::info;
use crate::host::{Attempt, Host};
use crate::numbers::Numbers;
use crate::place::Place;
use crate::report::{Expectation, Finding, Verdict};
use crate::settings::{IpVersion, Refusal, Settings};
use crate::syntax::{Action, Event, Script, When};
use calls::{Pending, judge};
use longfat_core::time::{Duration, Time};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Packets before a failure that are shown.
const SHOWN: usize = 8;
/// Time to wait for a packet that may come at any time: twice the time a connection lingers, and longer than any rto.
const PATIENCE: Duration = Duration::from_secs(600);
/// Most packets that wait to be expected. A script that causes more writes without end.
const MOST_PACKETS: usize = 100_000;

pub(crate) struct Runner<'a> {
    script: &'a Script,
    options: &'a Options,
    folder: &'a Path,
    settings: Settings,
    host: Host,
    now: Time,
    /// Time of the event before, for events that count from it.
    base: Time,
    /// Time from which the times of the current event count.
    origin: Time,
    /// Failure while time passed.
    failure: Option<Verdict>,
    numbers: Numbers,
    /// Packets sent and not yet expected.
    sent: VecDeque<(Time, Sent)>,
    pending: Option<Pending<'a>>,
    variables: Variables,
    history: VecDeque<String>,
    /// Number of the current event.
    at: usize,
    /// First expectation that was not met, with `--all`.
    first: Option<Verdict>,
    pub expectations: Vec<Expectation>,
    pub warnings: Vec<(Place, String)>,
    pub notes: Vec<(Place, String)>,
    pub printed: Vec<String>,
}

type Step = Result<(), Verdict>;

fn fail(place: Place, message: impl Into<String>) -> Verdict {
    Verdict::Fail(Finding { place, message: message.into(), details: Vec::new() })
}

fn unsupported(place: Place, message: impl Into<String>) -> Verdict {
    Verdict::NotSupported(Finding { place, message: message.into(), details: Vec::new() })
}

fn refused(place: Place, refusal: Refusal) -> Verdict {
    match refusal {
        Refusal::Wrong(message) => Verdict::Error(Finding { place, message, details: Vec::new() }),
        Refusal::Unsupported(what) => unsupported(place, what),
    }
}

impl<'a> Runner<'a> {
    /// `folder` is where the script is.
    pub(crate) fn new(script: &'a Script, options: &'a Options, folder: &'a Path) -> Self {
        let mut settings = Settings::default();
        settings.verbose = options.verbose;
        Runner {
            script,
            options,
            folder,
            host: Host::new(settings.clone()),
            settings,
            now: Time::ZERO,
            base: Time::ZERO,
            origin: Time::ZERO,
            failure: None,
            numbers: Numbers::default(),
            sent: VecDeque::new(),
            pending: None,
            variables: Variables::new(),
            history: VecDeque::new(),
            at: 0,
            first: None,
            expectations: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            printed: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self) -> Verdict {
        let ended = self.all();
        match self.first.take() {
            Some(first) => {
                // The failure that ended the run belongs to no expectation, and is reported beside them.
                if let Err(verdict) = ended
                    && let Some(place) = verdict.finding().map(|finding| finding.place)
                {
                    self.expectations.push(Expectation { place, what: "the rest of the script".to_owned(), verdict });
                }
                first
            }
            None => ended.err().unwrap_or(Verdict::Pass),
        }
    }

    fn all(&mut self) -> Step {
        let script = self.script;
        self.options()?;
        if let Some(ip) = self.options.ip_version
            && script.settings.iter().all(|setting| setting.name != "ip_version")
        {
            self.settings.use_ip(ip);
        }
        self.init()?;
        self.host.settings = self.settings.clone();
        for (at, event) in script.events.iter().enumerate() {
            self.at = at;
            self.event(event)?;
        }
        self.finish_call()?;
        if let (true, Some(event)) = (self.settings.strict, script.events.last()) {
            // Everything that the last event caused has been sent by now.
            if let Some((at, sent)) = self.sent.front() {
                let line = line(*at, '>', &self.shown(sent));
                return Err(self.with_history(fail(event.place, "a packet was sent that nothing expects"), vec![line]));
            }
        }
        Ok(())
    }

    /// Applies the settings at the head of the script and from outside. Their order does not matter: the stack is chosen first, since it
    /// sets all of TCP, then settings that change several parameters, and single parameters last. Where both set something, the script
    /// holds.
    fn options(&mut self) -> Step {
        let outside = Place { line: 1, column: 1 };
        let name = |name: &str| name.replacen("set tcp.", "set ", 1);
        let given = self.options.settings.iter().map(|(name, value)| (name, value, outside, true));
        let own = self.script.settings.iter().map(|setting| (&setting.name, &setting.value, setting.place, false));
        let mut chosen: Vec<(String, &String, Place, bool)> = Vec::new();
        for (said, value, place, is_given) in given.chain(own) {
            let said = name(said);
            // Init scripts add up.
            let before = chosen.iter_mut().find(|(other, ..)| *other == said && said != "init_scripts");
            match before {
                Some((_, old, ..)) if *old == value => {}
                Some((_, old, _, was_given)) if *was_given == is_given => {
                    let message = format!("--{said} is said twice, as `{old}` and as `{value}`");
                    return Err(refused(place, Refusal::Wrong(message)));
                }
                Some(before) => {
                    self.warnings.push((place, format!("--{said}={value} of the script holds, and not `{}` from outside", before.1)));
                    *before = (said, value, place, is_given);
                }
                None => chosen.push((said, value, place, is_given)),
            }
        }
        chosen.sort_by_key(|(name, ..)| match name.as_str() {
            "stack" => 0,
            name if name.starts_with("set ") => 2,
            _ => 1,
        });
        for (name, value, place, _) in chosen {
            let done = self.settings.option(&name, value).map_err(|r| refused(place, r))?;
            self.notes.extend(done.map(|note| (place, note)));
        }
        Ok(())
    }

    /// Writes down what became of an expectation. With `--all`, what was not met does not end the script.
    fn judged(&mut self, place: Place, what: String, step: Step) -> Step {
        let verdict = step.err().unwrap_or(Verdict::Pass);
        self.expectations.push(Expectation { place, what, verdict: verdict.clone() });
        match verdict {
            Verdict::Pass => Ok(()),
            Verdict::Fail(_) if self.options.all => {
                self.first.get_or_insert(verdict);
                Ok(())
            }
            _ => Err(verdict),
        }
    }

    /// The init scripts: what sets sysctls that are ours counts, and of all else there is a note.
    fn init(&mut self) -> Step {
        let place = self.script.settings.iter().find(|s| s.name == "init_scripts").map_or(Place { line: 1, column: 1 }, |s| s.place);
        let own = self.settings.init_scripts.iter().map(|path| self.folder.join(path));
        for path in self.options.init_scripts.iter().map(PathBuf::from).chain(own).collect::<Vec<_>>() {
            let ran = self.settings.shell_script(&path, self.folder).map_err(|r| refused(place, r))?;
            self.notes.extend(ran.notes.into_iter().map(|note| (place, note)));
        }
        Ok(())
    }

    /// Returns the IP version under which the script ran.
    pub(crate) fn ip_version(&self) -> IpVersion {
        self.settings.ip
    }

    /// Returns the earliest and the latest time of `when`.
    fn span(&self, when: When) -> (Time, Time) {
        let from = |relative: bool| if relative { self.base } else { Time::ZERO };
        match when {
            When::Any => (self.now, self.now.saturating_add(PATIENCE)),
            When::At { time, relative } => (from(relative).saturating_add(time), from(relative).saturating_add(time)),
            When::Between { from: start, to, relative } => (from(relative).saturating_add(start), from(relative).saturating_add(to)),
        }
    }

    fn event(&mut self, event: &'a Event) -> Step {
        let (start, end) = self.span(event.when);
        let place = event.place;
        if let Action::Expect(packet) = &event.action {
            let step = self.expect(event, packet, start, end);
            return self.judged(place, format!("> {}", show_expected(packet)), step);
        }
        if matches!(event.when, When::At { relative: false, .. }) && start < self.base {
            return Err(fail(place, format!("this event comes before the one above it, at {:.6}", self.base.as_secs_f64())));
        }
        self.advance(start);
        self.check()?;
        self.origin = if matches!(event.when, When::At { relative: false, .. }) { Time::ZERO } else { self.base };
        self.base = start;
        match &event.action {
            Action::Inject(packet) => self.inject(place, packet),
            Action::Call(call) => {
                let step = self.call(place, call);
                self.judged(place, format!("{}()", call.name), step)
            }
            Action::Command(text) => self.command(place, text),
            Action::Code(statements) => self.code(statements),
            Action::Unsupported(what) => Err(unsupported(place, what)),
            Action::Expect(_) => unreachable!("handled above"),
        }
    }

    /// Runs the host until `until`.
    fn advance(&mut self, until: Time) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// The next thing the host does by itself, if it is due by `until`.
    fn step(&mut self, until: Time) -> bool {
        self.flush();
        let wake = self.pending.as_ref().and_then(|p| p.wake);
        let Some(next) = self.host.wakes(self.now).into_iter().chain(wake).min() else { return false };
        if next > until || self.sent.len() > MOST_PACKETS {
            return false;
        }
        self.now = self.now.max(next);
        self.host.timeout(self.now);
        self.flush();
        true
    }

    /// Takes what the endpoint sends now; a call that waits is tried again.
    fn flush(&mut self) {
        loop {
            self.host.transmit(self.now, &mut self.sent, MOST_PACKETS);
            if self.sent.len() > MOST_PACKETS {
                return;
            }
            let Some(mut pending) = self.pending.take() else { return };
            match self.host.attempt(self.now, pending.call, &mut pending.progress) {
                Attempt::Blocks(wake) => {
                    pending.wake = wake;
                    self.pending = Some(pending);
                    return;
                }
                attempt => {
                    let judged = judge(pending.place, pending.call, attempt).and_then(|()| self.on_time(&pending));
                    self.failure = self.failure.take().or(judged.err());
                }
            }
        }
    }

    /// Returns the failure while time passed, if any.
    fn check(&mut self) -> Step {
        self.failure.take().map_or(Ok(()), |verdict| Err(self.with_history(verdict, Vec::new())))
    }

    fn command(&mut self, place: Place, text: &str) -> Step {
        let before = self.settings.clone();
        let ran = self.settings.command(text, self.folder).map_err(|r| refused(place, r))?;
        self.notes.extend(ran.notes.into_iter().map(|note| (place, note)));
        if self.host.has_sockets() && self.settings.makes_another_than(&before) {
            return Err(unsupported(place, "a sysctl once there is a socket"));
        }
        self.host.settings = self.settings.clone();
        // Events after a command count from its end. Before the first socket nothing is there for which time could pass.
        if self.host.has_sockets() {
            self.base = self.base.saturating_add(ran.slept);
        }
        self.advance(self.base);
        self.check()
    }

    fn code(&mut self, statements: &[code::Statement]) -> Step {
        self.flush();
        for statement in statements {
            let step = match code::run(statement, &mut self.variables, &|name| info::lookup(name, &self.host, self.now)) {
                Ok(printed) => {
                    self.printed.extend(printed);
                    Ok(())
                }
                Err(Stop::Fail(message)) => Err(self.with_history(fail(statement.place, message), Vec::new())),
                Err(Stop::Unsupported(what)) => Err(unsupported(statement.place, what)),
            };
            if matches!(statement.kind, code::Kind::Assert(..)) {
                self.judged(statement.place, statement.text.clone(), step)?;
            } else {
                step?;
            }
        }
        Ok(())
    }

    /// Returns the packet with the script's numbers.
    fn shown(&self, sent: &Sent) -> Sent {
        Sent { segment: self.numbers.show(&sent.segment), ..*sent }
    }

    fn remember(&mut self, at: Time, direction: char, packet: &Sent) {
        let line = line(at, direction, packet);
        if self.settings.verbose {
            self.printed.push(line.clone());
        }
        if self.history.len() == SHOWN {
            self.history.pop_front();
        }
        self.history.push_back(line);
    }

    /// Adds to the verdict the packets before it, and the sent packets that were not compared yet.
    fn with_history(&self, verdict: Verdict, lines: Vec<String>) -> Verdict {
        let Verdict::Fail(mut finding) = verdict else { return verdict };
        finding.details.extend(lines);
        if !self.history.is_empty() {
            finding.details.push("before it".to_owned());
            finding.details.extend(self.history.iter().map(|line| format!("          {line}")));
        }
        if !self.sent.is_empty() {
            finding.details.push("sent and not looked at".to_owned());
            let shown = self.sent.iter().take(SHOWN).map(|(at, sent)| format!("          {}", line(*at, '>', &self.shown(sent))));
            finding.details.extend(shown);
        }
        Verdict::Fail(finding)
    }
}

fn line(at: Time, direction: char, packet: &Sent) -> String {
    format!("{:>10.6} {direction} {}", at.as_secs_f64(), show(packet))
}
