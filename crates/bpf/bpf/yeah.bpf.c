// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* YeAH (Baiocchi, Castellani and Vacirca 2007): Scalable while the queue is short, else Reno that empties the queue before it overflows. Twin
 * of crates/tcp/src/congestion/yeah.rs. */
#include "twin.h"

KNOB(q_max, 80);
KNOB(phi, Q32(8));

#define GREEDY_ROUNDS 16
#define FREE_ROUNDS 50

/* Knowledge of the path and its rivals. */
struct rivals {
	u64 queue; /* packets of its own in the queue in the last round */
	u64 reno; /* the window that a Reno flow beside it would have by now */
	bool is_slow;
	/* In slow mode, and of fast mode in a row; up to 255. */
	u8 slow_rounds, fast_rounds;
	/* The round trips of this round are of what was sent before the last decongestion. No part of what an undo gives back. */
	bool settling;
};

struct control {
	struct rivals rivals, before;
	u32 round;
	u32 least; /* round trip of the round under way, in us; zero: none yet */
};
#include "window.h"

static inline u8 one_more(u8 rounds)
{
	return min(rounds + 1, 255);
}

/* PFLDnet 2007 section 2: Q = RTT_queue cwnd / RTT_min. */
static inline u64 queued(struct sock *sk, u32 least)
{
	return mul_div(cwnd(sk), less(least, window(sk)->rtt_min), least);
}

/* A round is over, of which that was the least round trip. */
static inline void end_round(struct sock *sk, u32 least)
{
	struct rivals *r = &control(sk)->rivals;
	u64 w = cwnd(sk);

	r->queue = queued(sk, least);
	if (r->queue < q_max << 32 && ratio(less(least, window(sk)->rtt_min), window(sk)->rtt_min) < ratio(ONE, phi)) {
		if (r->is_slow)
			r->reno = w / 2;
		r->is_slow = false;
		r->fast_rounds = one_more(r->fast_rounds);
		if (r->fast_rounds > FREE_ROUNDS)
			r->slow_rounds = 0;
		return;
	}
	r->is_slow = true;
	r->fast_rounds = 0;
	r->slow_rounds = one_more(r->slow_rounds);
	r->reno = plus(r->reno, ONE);
	if (r->queue > q_max << 32 && w > r->reno) {
		/* Precautionary decongestion: less by Q, though not under half, nor under what Reno would have. */
		move_to(sk, max(max(less(w, r->queue), w / 2), r->reno));
		r->settling = true;
	}
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	struct control *c = control(sk);
	struct window *w = window(sk);
	u32 over = 0;

	if (!is_cwnd_limited(sk))
		return;
	if (w->round != c->round) {
		c->round = w->round;
		over = c->least;
		c->least = 0;
	}
	if (w->rtt > 0)
		c->least = c->least ? min(c->least, w->rtt) : (u32)w->rtt;
	if (over) {
		if (c->rivals.settling)
			c->rivals.settling = false;
		else
			end_round(sk, over);
	}
	/* PFLDnet 2007 section 2: Scalable in fast mode, but never slower than Reno; Reno in slow mode. */
	if (!slow_start(sk, acked))
		increase(sk, acked, c->rivals.is_slow ? ONE : max(ONE, mul(Q32(0.01), cwnd(sk))));
}

static inline u64 on_congestion(struct sock *sk)
{
	struct control *c = control(sk);
	struct rivals *r = &c->rivals;
	u64 w = cwnd(sk);

	c->before = *r;
	if (c->least)
		r->queue = queued(sk, c->least);
	c->least = 0;
	r->fast_rounds = 0;
	r->reno /= 2;
	/* PFLDnet 2007 section 2: beside greedy flows as Reno; else by what is in the queue. */
	return r->slow_rounds > GREEDY_ROUNDS ? w / 2 : w - clamp(r->queue, w / 8, w / 2);
}

static inline u64 on_timeout(struct sock *sk)
{
	struct control *c = control(sk);

	c->rivals = (struct rivals){ .settling = c->rivals.settling };
	c->least = 0;
	return cwnd(sk) / 2;
}

static inline void on_undo(struct sock *sk)
{
	struct control *c = control(sk);
	bool settling = c->rivals.settling;

	c->rivals = c->before;
	c->rivals.settling = settling;
}

static inline void on_restart(struct sock *sk)
{
	control(sk)->least = 0;
}

#define NAME "yeah"
#define on_timeout on_timeout
#define on_undo on_undo
#define on_restart on_restart
#include "hooks.h"
