// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Compound TCP (Tan, Song, Zhang and Sridharan 2006): Reno's window plus one by delay. Twin of crates/tcp/src/congestion/compound.rs; cwnd is
 * the sum of the two. */
#include "twin.h"

KNOB(alpha, Q32(0.125));
KNOB(beta, Q32(0.5));
KNOB(k, Q32(0.75));
KNOB(zeta, Q32(1));
KNOB(gamma, Q32(30));

/* draft-sridharan-tcpm-ctcp-02 section 2, 6: below so many segments it is Reno. */
#define LOW_WINDOW (38 * ONE)

struct control {
	u64 dwnd, before; /* the delay window, and as before the last reduction */
	u64 sum; /* of the round trips of the round under way, in us */
	u32 samples;
	u32 round;
	u32 base; /* the least round trip since the last timeout; zero before the first */
};
#include "window.h"

/* The delay window becomes that, and the whole window with it. */
static inline void set_dwnd(struct sock *sk, u64 dwnd)
{
	struct control *c = control(sk);

	if (dwnd >= c->dwnd)
		grow(sk, dwnd - c->dwnd);
	else
		shrink(sk, c->dwnd - dwnd);
	set_ssthresh(sk, max(min(ssthresh(sk), cwnd(sk)), 2 * ONE));
	c->dwnd = min(dwnd, cwnd(sk));
}

/* A round of congestion avoidance is over; its round trip in us, 12 bits after the point. */
static inline void end_round(struct sock *sk, u64 rtt)
{
	struct control *c = control(sk);
	u64 win = cwnd(sk);
	/* draft-sridharan-tcpm-ctcp-02 section 3. */
	u64 diff = mul_div(win, less(rtt, (u64)c->base << 12), rtt);

	if (diff >= gamma)
		set_dwnd(sk, less(c->dwnd, mul(zeta, diff)));
	else if (win >= LOW_WINDOW)
		/* INFOCOM 2006 section III, Eq. 5: by (alpha win^k - 1)+. */
		set_dwnd(sk, c->dwnd + less(mul(alpha, exp2_of(mul(k, log2_of(win)))), ONE));
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	struct control *c = control(sk);
	struct window *w = window(sk);
	u64 mean = 0;

	if (!is_cwnd_limited(sk))
		return;
	if (w->round != c->round) {
		c->round = w->round;
		mean = c->samples ? mul_div(c->sum, 1 << 12, c->samples) : 0;
		c->sum = 0;
		c->samples = 0;
	}
	if (w->rtt >= 0) {
		c->sum += w->rtt;
		c->samples++;
		c->base = c->base ? min(c->base, w->rtt) : (u32)w->rtt;
	}
	if (slow_start(sk, acked))
		return;
	if (mean)
		end_round(sk, mean);
	increase(sk, acked, ONE);
}

static inline u64 on_congestion(struct sock *sk)
{
	struct control *c = control(sk);
	u64 w = cwnd(sk), left = max(mul(w, ONE - beta), 2 * ONE);

	c->sum = 0;
	c->samples = 0;
	c->before = c->dwnd;
	/* INFOCOM 2006 section III, Eq. 5: what is left of the whole, less half of the loss window. */
	c->dwnd = less(left, less(w, c->dwnd) / 2);
	return left;
}

static inline u64 on_timeout(struct sock *sk)
{
	struct control *c = control(sk);

	/* draft-sridharan-tcpm-ctcp-02 section 3: the delay window is gone, and the path may be another. */
	c->dwnd = 0;
	c->base = 0;
	c->sum = 0;
	c->samples = 0;
	return mul(cwnd(sk), ONE - beta);
}

static inline void on_undo(struct sock *sk)
{
	control(sk)->dwnd = control(sk)->before;
}

static inline void on_restart(struct sock *sk)
{
	struct control *c = control(sk);

	c->dwnd = 0;
	c->sum = 0;
	c->samples = 0;
}

#define NAME "compound"
#define on_timeout on_timeout
#define on_undo on_undo
#define on_restart on_restart
#include "hooks.h"
