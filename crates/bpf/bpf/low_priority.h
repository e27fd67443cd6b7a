/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* TCP-LP (Kuzmanovic and Knightly 2003) with whatever growth: a control that yields to others. The twin of
 * crates/tcp/src/congestion/low_priority.rs. Whoever includes it has struct growth, a_of(sk) and b_of(w). */
#pragma once

KNOB(delta, Q32(0.15));
KNOB(inference, 3);

/* In us: one tick of the peer's timestamps. Linux counts milliseconds. */
#define TICK 1000

struct control {
	s64 smoothed; /* delay, 16 bits after the point */
	u64 until; /* the inference phase ends */
	/* Delays are from the first one on, which is zero: the clocks are not synchronized. That was sent at first_sent and arrived at first_tick. */
	u64 first_sent;
	u32 first_tick;
	/* The least delay there can have been, from above, and the greatest, from below. */
	s32 least, most;
	u32 seen_from; /* delays before this round are of a window that has been given up since */
	bool is_measured;
	bool is_smoothed;
	bool delays_acks; /* the receiver, or it loses some: an ACK has answered two segments */
	bool full_seen; /* a loss has shown how long the delay is where the queue is full */
	struct growth growth;
};
#include "window.h"

/* RFC 5681 section 4.2: the receiver may hold the ACK of one segment, but not that of two; such a wait is no delay of the path. */
static inline bool is_held(struct control *c, const struct ack *ack)
{
	if (ack->acked >= 2)
		c->delays_acks = true;
	return ack->acked < 2 && c->delays_acks;
}

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	struct window *w = window(sk);
	struct tcp_sock *tp = tcp_sock(sk);
	u64 sent;
	s64 delay;

	if (w->rtt < 0 || !BITFIELD(tp, rx_opt.saw_tstamp))
		return;
	if (is_held(c, ack) || !ack->acked || in_flight(sk) + ack->acked < 2 || (s32)(w->round - c->seen_from) < 0)
		return;
	sent = tp->tcp_mstamp - (u32)w->rtt;
	if (!c->is_measured) {
		c->first_sent = sent;
		c->first_tick = tp->rx_opt.rcv_tsval;
		c->least = TICK;
		c->most = 0;
		c->is_measured = true;
	}
	delay = (s64)(s32)(tp->rx_opt.rcv_tsval - c->first_tick) * TICK - (s64)(sent - c->first_sent);
	if (delay != (s32)delay)
		return;
	/* Within a tick the measured delay falls from the true one to one tick less. */
	if (delay + TICK < c->least)
		c->least = delay + TICK;
	if (delay > c->most)
		c->most = delay;
	/* INFOCOM 2003 section IV-A: the weight of a new delay is 1/8. */
	if (c->is_smoothed)
		c->smoothed += (delay * (1 << 16) - c->smoothed) >> 3;
	else
		c->smoothed = delay * (1 << 16);
	c->is_smoothed = true;
}

/* The window was reduced. What it does shows from the end of the round after this one on. */
static inline void reduced(struct sock *sk)
{
	control(sk)->seen_from = window(sk)->round + 2;
	control(sk)->is_smoothed = false;
}

/* Whether the delays tell of congestion. */
static inline bool is_early(struct sock *sk)
{
	struct control *c = control(sk);
	u64 range = c->most > c->least ? (s64)c->most - c->least : 0;

	/* INFOCOM 2003 section IV-A: d > d_min + delta (d_max - d_min). */
	return c->full_seen && c->is_smoothed && c->smoothed > (s64)c->least * (1 << 16) + (s64)mul(delta, range << 16);
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	struct control *c = control(sk);
	u64 now = tcp_sock(sk)->tcp_mstamp;
	/* INFOCOM 2003 section IV-B: the inference phase, in which the window does not grow. */
	bool holds = now < c->until;

	if (!in_slow_start(sk) && is_early(sk)) {
		c->until = now + inference * (tcp_sock(sk)->srtt_us / 8);
		reduced(sk);
		/* Once, what a loss would cost; again while it lasts, others are there: down to one segment. */
		move_to(sk, holds ? ONE : mul(cwnd(sk), ONE - b_of(cwnd(sk))));
		return;
	}
	if (is_cwnd_limited(sk) && !holds && !slow_start(sk, acked))
		increase(sk, acked, a_of(sk));
}

static inline u64 on_congestion(struct sock *sk)
{
	control(sk)->full_seen = true;
	reduced(sk);
	return mul(cwnd(sk), ONE - b_of(cwnd(sk)));
}

/* Delays tell from now on. */
static inline void on_restart(struct sock *sk)
{
	control(sk)->seen_from = window(sk)->round;
	control(sk)->is_smoothed = false;
}

static inline void on_undo(struct sock *sk)
{
	on_restart(sk);
}

/* Reduces anew in each timeout, also where it is repeated. */
static inline u64 on_timeout(struct sock *sk)
{
	reduced(sk);
	return ssthresh(sk);
}

#define on_sample on_sample
#define on_timeout on_timeout
#define on_undo on_undo
#define on_restart on_restart
