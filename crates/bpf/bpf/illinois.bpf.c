// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* TCP-Illinois (Liu, Basar and Srikant 2006): AIMD whose alpha and beta follow the average queueing delay. Twin of
 * crates/tcp/src/congestion/illinois.rs. */
#include "twin.h"

KNOB(alpha_min, Q32(0.3));
KNOB(alpha_max, Q32(10));
KNOB(beta_min, Q32(0.125));
KNOB(beta_max, Q32(0.5));
KNOB(theta, 5);
KNOB(window_threshold, 10);

#define NEVER (~0U)

/* State that a congestion event may change beside the window. */
struct rates {
	u32 alpha; /* 22 bits after the point */
	u32 beta; /* Q32 */
	u32 calm; /* round trips since the average delay was last above d_1; or NEVER */
};

struct control {
	u64 sum; /* of the round trips of the round under way, in us */
	u32 samples;
	u32 rtt_max;
	struct rates rates, before;
};
#include "window.h"

/* Reno's. */
#define ALPHA_RENO (1 << 22)
#define BETA_RENO (1U << 31)
#define RENO (struct rates){ ALPHA_RENO, BETA_RENO, NEVER }

static inline void on_init(struct sock *sk)
{
	control(sk)->rates = RENO;
	control(sk)->before = RENO;
}

static inline u64 beta_of(u64 da, u64 dm)
{
	u64 d2 = mul(Q32(0.1), dm), d3 = mul(Q32(0.8), dm);

	if (da <= d2)
		return beta_min;
	if (da >= d3)
		return beta_max;
	return beta_min + mul_div(beta_max - beta_min, da - d2, d3 - d2);
}

/* Liu et al. 2006 section 3: once a round trip, from its average delay da, where the greatest is dm. */
static inline void update(struct rates *r, u64 da, u64 dm)
{
	u64 d1 = mul(Q32(0.01), dm), span = dm - d1;

	r->beta = beta_of(da, dm);
	if (da > d1) {
		r->calm = 0;
		r->alpha = mul_div(mul(alpha_min, alpha_max), span, mul(span, alpha_min) + mul(da - d1, alpha_max - alpha_min)) >> 10;
	} else if (r->alpha < (u32)(alpha_max >> 10)) {
		/* Once there was delay, only theta round trips in a row without bring alpha_max back. */
		if (r->calm != NEVER)
			r->calm++;
		if (r->calm == NEVER || r->calm >= theta)
			r->alpha = alpha_max >> 10;
	}
}

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	struct window *w = window(sk);

	if (ack->is_new_round) {
		/* 12 bits after the point. */
		if (c->samples)
			update(&c->rates, less(mul_div(c->sum, 1 << 12, c->samples), (u64)w->rtt_min << 12),
			       less((u64)c->rtt_max << 12, (u64)w->rtt_min << 12));
		c->sum = 0;
		c->samples = 0;
	}
	if (w->rtt >= 0) {
		c->sum += w->rtt;
		c->samples++;
		c->rtt_max = max(c->rtt_max, w->rtt);
	}
}

static inline bool is_small(struct sock *sk)
{
	return cwnd(sk) < window_threshold << 32;
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	if (is_cwnd_limited(sk) && !slow_start(sk, acked))
		increase(sk, acked, is_small(sk) ? ONE : (u64)control(sk)->rates.alpha << 10);
}

static inline u64 reduced(struct sock *sk)
{
	return mul(cwnd(sk), ONE - (is_small(sk) ? BETA_RENO : control(sk)->rates.beta));
}

static inline u64 on_congestion(struct sock *sk)
{
	control(sk)->before = control(sk)->rates;
	return reduced(sk);
}

/* Resets the state to that of the start, except for the knowledge that there was delay. */
static inline void on_restart(struct sock *sk)
{
	struct rates *r = &control(sk)->rates;

	*r = (struct rates){ ALPHA_RENO, BETA_RENO, r->calm == NEVER ? NEVER : 0 };
}

static inline u64 on_timeout(struct sock *sk)
{
	/* Liu et al. 2006 section 3: a timeout is standard TCP's. */
	on_restart(sk);
	return reduced(sk);
}

static inline void on_undo(struct sock *sk)
{
	control(sk)->rates = control(sk)->before;
}

#define NAME "illinois"
#define on_init on_init
#define on_sample on_sample
#define on_timeout on_timeout
#define on_undo on_undo
#define on_restart on_restart
#include "hooks.h"
