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
	/* The first delay as the clocks have it, modulo 2^32. They are not synchronized: delays count from it. */
	u32 first;
	/* The least delay there can have been, from above, and the greatest, from below. */
	s32 least, most;
	u32 seen_from; /* delays before this round are of a window that has been given up since */
	/* Time at which the segment of the last ACK was sent, modulo 2^32, and its delay, if that ACK answered one segment. */
	u32 alone_sent;
	s32 alone_delay;
	bool is_alone;
	bool is_measured;
	bool is_smoothed;
	bool full_seen; /* a loss has shown how long the delay is where the queue is full */
	struct growth growth;
};
#include "window.h"

/* Returns true if the receiver cannot have held the ACK of one segment for long: the next segment, which this ACK answers, was sent gap
 * after it. RFC 5681 section 4.2: its timer may hold the ACK of one segment, but not that of two. Segments that ACKs clock are spaced by a
 * round trip over the window. Twice that counts as soon, up to a quarter of a round trip. */
static inline bool follows(struct sock *sk, const struct ack *ack, s32 gap)
{
	u64 window = in_flight(sk) + ack->acked;

	return gap <= 0 || gap * max(window / 2, 4) <= tcp_sock(sk)->srtt_us / 8;
}

/* Takes in a delay of the path. */
static inline void take(struct control *c, s32 delay)
{
	/* Within a tick the measured delay falls from the true one to one tick less. */
	if ((s64)delay + TICK < c->least)
		c->least = delay + TICK;
	if (delay > c->most)
		c->most = delay;
	/* INFOCOM 2003 section IV-A: the weight of a new delay is 1/8. */
	if (c->is_smoothed)
		c->smoothed += ((s64)delay * (1 << 16) - c->smoothed) >> 3;
	else
		c->smoothed = (s64)delay * (1 << 16);
	c->is_smoothed = true;
}

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	struct window *w = window(sk);
	struct tcp_sock *tp = tcp_sock(sk);
	bool was_alone = c->is_alone;
	u32 sent, delay;

	if (!ack->acked)
		return;
	c->is_alone = false;
	if (w->rtt < 0 || !BITFIELD(tp, rx_opt.saw_tstamp))
		return;
	sent = (u32)tp->tcp_mstamp - (u32)w->rtt;
	delay = tp->rx_opt.rcv_tsval * TICK - sent;
	if (was_alone && follows(sk, ack, sent - c->alone_sent))
		take(c, c->alone_delay);
	if (in_flight(sk) + ack->acked < 2 || (s32)(w->round - c->seen_from) < 0)
		return;
	if (!c->is_measured) {
		c->first = delay;
		c->least = 0x7fffffff;
		c->most = -0x7fffffff;
		c->is_measured = true;
	}
	if (ack->acked >= 2) {
		take(c, delay - c->first);
	} else {
		c->is_alone = true;
		c->alone_sent = sent;
		c->alone_delay = delay - c->first;
	}
}

/* The window was reduced. What it does shows from the end of the round after this one on. */
static inline void reduced(struct sock *sk)
{
	control(sk)->seen_from = window(sk)->round + 2;
	control(sk)->is_smoothed = false;
	control(sk)->is_alone = false;
}

/* Returns true if the delays show congestion. */
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
	control(sk)->is_alone = false;
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
