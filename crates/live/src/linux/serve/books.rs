//! Books of a server: who is in, who waits, and which tokens are out. Its threads share them.

use std::collections::{BTreeMap, HashMap};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::session::Input;
use crate::linux::data;
use crate::linux::wire::nanos;
use crate::protocol::{Beside, Key, KeyId, Ledger, Nanos, Reach, Tokens};

/// Everything that the threads share.
pub(super) struct Shared {
    pub keys: HashMap<KeyId, (String, Key)>,
    pub open: bool,
    pub concurrent: u32,
    pub capture: bool,
    pub zero: Instant,
    pub listener: TcpListener,
    pub books: Mutex<Books>,
    pub next: AtomicU64,
    pub threads: AtomicU64,
    pub stop: AtomicBool,
}

/// Books of the server.
pub(super) struct Books {
    pub ledger: Ledger,
    pub tokens: Tokens,
    pub reach: Reach,
    pub beside: Beside,
    pub sessions: BTreeMap<u64, SyncSender<Input>>,
    /// Sessions whose data connections are to come, each with the largest window that one of them asks of this end.
    pub connecting: BTreeMap<u64, Option<u64>>,
}

impl Books {
    /// Lets the connections of `session` come to `listener`, which has the largest of their windows from the handshake on: a connection gets its
    /// window scale from the socket that listens (tcp(7), TCP_WINDOW_CLAMP). False: connections with another window are still to come.
    pub(super) fn let_connect(&mut self, session: u64, window: Option<u64>, listener: &TcpListener) -> bool {
        if self.connecting.values().any(|other| *other != window) {
            return false;
        }
        self.connecting.insert(session, window);
        data::bound_window(listener, window);
        true
    }

    /// The connections of `session` have come, or never will.
    pub(super) fn has_connected(&mut self, session: u64, listener: &TcpListener) {
        if self.connecting.remove(&session).is_some() && self.connecting.is_empty() {
            data::bound_window(listener, None);
        }
    }
}

impl Shared {
    pub(super) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Nanos {
        nanos(self.zero)
    }
}
