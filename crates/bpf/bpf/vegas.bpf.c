// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Vegas (Brakmo and Peterson 1995): keeps alpha to beta segments of its own in the queue. Twin of crates/tcp/src/congestion/vegas.rs. */
#include "twin.h"

KNOB(alpha, Q32(2));
KNOB(beta, Q32(4));
KNOB(gamma, Q32(1));

struct control {
	u32 round;
	bool doubles; /* slow start: whether this is one of the rounds that double */
};
#include "window.h"

/* The round is over, and so many segments of ours wait in the path. */
static inline void end_round(struct sock *sk, bool is_measured, u64 waiting)
{
	struct control *c = control(sk);

	if (in_slow_start(sk)) {
		/* JSAC 1995 section III-C: it doubles every other round; what is measured in between may end it. */
		if (!c->doubles && is_measured && waiting > gamma)
			move_to(sk, cwnd(sk));
		c->doubles = !c->doubles;
	} else if (is_measured && waiting < alpha) {
		/* Section III-B. */
		grow(sk, ONE);
	} else if (is_measured && waiting > beta) {
		move_to(sk, max(less(cwnd(sk), ONE), 2 * ONE));
	}
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	struct control *c = control(sk);
	struct window *w = window(sk);

	if (!is_cwnd_limited(sk))
		return;
	if (w->round != c->round) {
		c->round = w->round;
		/* Section III-B: what was in flight before this ACK, less what of it an empty path would hold. */
		end_round(sk, w->rtt > 0, w->rtt > 0 ? mul_div((u64)(in_flight(sk) + acked) << 32, w->rtt - w->rtt_min, w->rtt) : 0);
	}
	if (c->doubles)
		slow_start(sk, acked);
}

static inline u64 on_congestion(struct sock *sk)
{
	control(sk)->doubles = true;
	return mul(cwnd(sk), Q32(0.75));
}

static inline u64 on_timeout(struct sock *sk)
{
	control(sk)->doubles = true;
	return cwnd(sk) / 2;
}

static inline void on_restart(struct sock *sk)
{
	control(sk)->doubles = true;
}

#define NAME "vegas"
#define on_timeout on_timeout
#define on_restart on_restart
#include "hooks.h"
