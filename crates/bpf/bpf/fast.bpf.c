// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* FAST (Jin, Wei and Low 2004): every other round trip the window moves towards that which keeps alpha packets of its own in the path. Twin of
 * crates/tcp/src/congestion/fast.rs. The kernel paces it: cwnd in a smoothed round trip, with the same headroom (tcp_pacing_ca_ratio). */
#include "twin.h"

KNOB(alpha, 200);
KNOB(gamma, Q32(0.5));
KNOB(mi_threshold, 750); /* us */
KNOB(multiplicative, 0);

/* Round trips in us have 20 bits after the point. */
#define US 20

struct control {
	u64 average; /* round trip; zero before the first */
	/* Rest of the current update of cwnd, in segments, and its part per segment acknowledged; up, or down. */
	u64 left, slope;
	u32 round;
	bool falls;
	bool moves; /* in this round; it stands still in every other */
};
#include "window.h"

static inline void on_init(struct sock *sk)
{
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static inline u64 base(struct sock *sk)
{
	return (u64)window(sk)->rtt_min << US;
}

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	u64 rtt = (u64)(u32)window(sk)->rtt << US, weight = min(mul_div(3 * ONE, ONE, cwnd(sk)), ONE / 4);

	(void)ack;
	if (window(sk)->rtt < 0)
		return;
	/* INFOCOM 2004 section IV-B: an exponential average with the weight min(3/w, 1/4). */
	if (!c->average)
		c->average = rtt;
	else if (rtt > c->average)
		c->average += mul(weight, rtt - c->average);
	else
		c->average -= mul(weight, c->average - rtt);
}

/* Little delay, and fewer packets of ours than equilibrium has. */
static inline bool queue_is_empty(struct sock *sk)
{
	u64 average = control(sk)->average, delay = less(average, base(sk));

	return delay < mi_threshold << US && mul_div(cwnd(sk), delay, average) < alpha << 31;
}

/* INFOCOM 2004 section IV-C: never more than double. */
static inline u64 next_window(struct sock *sk)
{
	u64 w = cwnd(sk), wanted = alpha << 32;

	if (multiplicative && queue_is_empty(sk))
		wanted = max(wanted, w);
	wanted = plus(wanted, mul_div(w, base(sk), control(sk)->average));
	return min(plus(mul(ONE - gamma, w), mul(gamma, wanted)), 2 * w);
}

/* Moves by so much of what is left. */
static inline void step(struct sock *sk, u64 segments)
{
	control(sk)->left -= segments;
	if (control(sk)->falls)
		shrink(sk, segments);
	else
		grow(sk, segments);
}

static inline void end_round(struct sock *sk)
{
	struct control *c = control(sk);
	u64 w, to;

	step(sk, c->left);
	c->moves = !c->moves;
	if (!c->moves || !c->average)
		return;
	w = cwnd(sk);
	to = next_window(sk);
	c->falls = to < w;
	c->left = max(less(to, w), less(w, to));
	c->slope = ratio(c->left, w);
	/* Slow start must not give back the reduction by delay. */
	if (c->falls)
		set_ssthresh(sk, max(min(ssthresh(sk), to), 2 * ONE));
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	struct control *c = control(sk);

	if (!is_cwnd_limited(sk))
		return;
	if (in_slow_start(sk)) {
		if (queue_is_empty(sk)) {
			slow_start(sk, acked);
			return;
		}
		move_to(sk, cwnd(sk));
	}
	if (window(sk)->round != c->round) {
		c->round = window(sk)->round;
		end_round(sk);
	}
	/* INFOCOM 2004 section IV-C, IV-D: the update is spread over its round. */
	step(sk, min(mul(c->slope, (u64)acked << 32), c->left));
}

static inline void on_restart(struct sock *sk)
{
	control(sk)->left = 0;
	control(sk)->moves = false;
}

static inline u64 on_congestion(struct sock *sk)
{
	on_restart(sk);
	return cwnd(sk) / 2;
}

#define NAME "fast"
#define on_init on_init
#define on_sample on_sample
#define on_restart on_restart
#include "hooks.h"
