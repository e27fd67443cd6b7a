//! The lab in a browser: experiments checked, edited and run in slices.
//!
//! The ABI is four C functions, and needs no tool but `cargo`: [`input`] makes room for a request, [`answer`] answers it, [`output`] and
//! [`output_len`] say where the answer is. Requests and answers are JSON. A request is `{"do": NAME, ...}`, and an answer
//! `{"ok": ...}` or `{"error": ...}`. After a panic the output is its message, and the module must be made anew.

mod file;
mod names;
mod run;
mod told;

use std::cell::RefCell;

use longfat_experiment::Error;
use serde_json::{Value, json};

use run::Lab;

/// Fault of a request.
pub(crate) enum Fault {
    /// The experiment file is wrong.
    File(Error),
    /// A sentence.
    Said(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::File(error)
    }
}

impl From<&str> for Fault {
    fn from(said: &str) -> Self {
        Fault::Said(said.to_owned())
    }
}

impl From<String> for Fault {
    fn from(said: String) -> Self {
        Fault::Said(said)
    }
}

impl Fault {
    fn to_json(&self) -> Value {
        match self {
            Fault::Said(message) => json!({ "message": message, "said": message, "others": [] }),
            Fault::File(error) => report(error),
        }
    }
}

/// The parts of an error of a file, `said` as the command line says it.
fn report(error: &Error) -> Value {
    json!({
        "message": error.message, "line": error.line, "column": error.column, "width": error.width, "key": error.key, "found": error.found,
        "expected": error.expected, "help": error.help, "run": error.run, "said": error.to_string(),
        "others": error.others.iter().map(report).collect::<Vec<_>>(),
    })
}

/// The text under `key` of a request.
fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, Fault> {
    request[key].as_str().ok_or_else(|| format!("the request has no text `{key}`").into())
}

/// A lab that answers requests: what a page talks to.
#[derive(Default)]
pub struct Session(Lab);

impl Session {
    /// Answers a request in JSON with an answer in JSON.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = serde_json::from_str(request).map_err(|e| Fault::Said(e.to_string())).and_then(|request: Value| self.of(&request));
        let answer = match answer {
            Ok(ok) => json!({ "ok": ok }),
            Err(fault) => json!({ "error": fault.to_json() }),
        };
        answer.to_string()
    }

    fn of(&mut self, request: &Value) -> Result<Value, Fault> {
        match text(request, "do")? {
            "names" => Ok(names::registries()),
            "schema" => Ok(longfat_experiment::schema()),
            "check" => file::check(request),
            "edit" => file::edit(request),
            "open" => self.0.open(request),
            "advance" => self.0.advance(request),
            "finish" => self.0.finish(request),
            other => Err(format!("there is no request `{other}`").into()),
        }
    }
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a request of `len` bytes; the place to write it to.
#[allow(unsafe_code)] // The names of the ABI are ours alone.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(len, 0);
        input.as_mut_ptr()
    })
}

/// Answers the request in the input. The answer is in the output.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn answer() {
    std::panic::set_hook(Box::new(|panic| {
        // A panic while the output is written leaves it as it is.
        OUTPUT.with(|output| output.try_borrow_mut().map(|mut output| *output = panic.to_string().into_bytes())).ok();
    }));
    let request = INPUT.with_borrow_mut(std::mem::take);
    let answer = match std::str::from_utf8(&request) {
        Ok(request) => SESSION.with_borrow_mut(|session| session.answer(request)),
        Err(e) => json!({ "error": Fault::Said(e.to_string()).to_json() }).to_string(),
    };
    OUTPUT.set(answer.into_bytes());
}

/// Returns the place of the output.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(Vec::as_ptr)
}

/// Returns the length of the output in bytes.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    OUTPUT.with_borrow(Vec::len)
}
