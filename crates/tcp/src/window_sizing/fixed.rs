//! A fixed window: the buffers as the application sets them, 64 KB on most systems of 2001 (Weigle and Feng 2001 §I-B).

use super::{MAXWND, SizingKind, check_maxwnd, unbounded};

pub(super) const KIND: SizingKind = SizingKind {
    name: "static",
    summary: "fixed buffers: send_buffer and receive_buffer, whatever the path",
    source: "RFC 9293 §3.8; Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, section I",
    params: &[MAXWND],
    check: check_maxwnd,
    most: unbounded,
    send: |_| None,
    receive: |_| None,
};
