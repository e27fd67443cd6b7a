// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* BIC (Xu, Harfoush and Rhee 2004): a binary search for the window, and beyond the old maximum a slow start of its own. Twin of
 * crates/tcp/src/congestion/bic.rs. */
#include "twin.h"

KNOB(smax, Q32(32));
KNOB(smin, Q32(0.01));
KNOB(beta, Q32(0.125));
KNOB(low_window, 14);

/* State of the search. A maximum of MOST is none; a step of zero is not probing. */
struct search {
	u64 most;
	u64 step;
	u64 target;
};

struct control {
	struct search search, before;
};
#include "window.h"

#define NOTHING_KNOWN (struct search){ .most = MOST }

static inline void on_init(struct sock *sk)
{
	control(sk)->search = NOTHING_KNOWN;
	control(sk)->before = NOTHING_KNOWN;
}

static inline bool is_low(struct sock *sk)
{
	return cwnd(sk) < low_window << 32;
}

/* Segments a round trip. */
static inline u64 increment(struct sock *sk)
{
	struct search *s = &control(sk)->search;
	u64 w = cwnd(sk);

	/* Xu et al. 2004 section III-A, B: half of the way to the maximum. */
	if (!s->step && w < s->most)
		return clamp((s->most - w) / 2, smin, smax);
	/* Section III-C, max probing: 1 segment a round trip, then 2, 4.. up to Smax, and on with Smax. */
	if (!s->step) {
		s->step = ONE;
		s->target = w + ONE;
	} else if (w >= s->target) {
		s->step *= 2;
		s->target = w + s->step;
	}
	if (s->step >= smax) {
		*s = NOTHING_KNOWN;
		return smax;
	}
	return s->step;
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	if (is_cwnd_limited(sk) && !slow_start(sk, acked))
		increase(sk, acked, is_low(sk) ? ONE : increment(sk));
}

static inline u64 on_congestion(struct sock *sk)
{
	struct control *c = control(sk);
	u64 w = cwnd(sk), most = c->search.most, share = is_low(sk) ? ONE / 2 : beta;

	c->before = c->search;
	/* Section III-D, fast convergence: a flow that loses below its last maximum goes halfway down from this one. */
	if (!is_low(sk))
		most = most != MOST && w < most ? mul(w, (2 * ONE - share) / 2) : w;
	c->search = (struct search){ .most = most };
	return mul(w, ONE - share);
}

static inline void on_undo(struct sock *sk)
{
	control(sk)->search = control(sk)->before;
}

#define NAME "bic"
#define on_init on_init
#define on_undo on_undo
#include "hooks.h"
