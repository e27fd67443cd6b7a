// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Scalable TCP (Kelly 2003): a fixed share of what is acknowledged. Twin of crates/tcp/src/congestion/scalable.rs. */
#include "twin.h"

KNOB(a, Q32(0.01));
KNOB(b, Q32(0.125));
KNOB(legacy_window, 16);
KNOB(legacy_b, Q32(0.5));

struct control {};
#include "window.h"

static inline bool is_legacy(struct sock *sk)
{
	return cwnd(sk) <= legacy_window << 32;
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	if (!is_cwnd_limited(sk) || slow_start(sk, acked))
		return;
	/* Kelly 2003 section 3: Reno within the legacy window; beyond it a segments for each segment acknowledged. */
	if (is_legacy(sk))
		increase(sk, acked, ONE);
	else
		grow(sk, mul(a, (u64)acked << 32));
}

static inline u64 on_congestion(struct sock *sk)
{
	return mul(cwnd(sk), ONE - (is_legacy(sk) ? legacy_b : b));
}

#define NAME "scalable"
#include "hooks.h"
