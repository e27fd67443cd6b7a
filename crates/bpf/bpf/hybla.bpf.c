// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Hybla (Caini and Firrincieli 2004): Reno with the growth of a connection of 25 ms. Twin of crates/tcp/src/congestion/hybla.rs. */
#include "twin.h"

KNOB(rtt0, 25000); /* us */
KNOB(count_acks, 0);

struct control {
	/* rho^2, segments a round trip; 2^rho - 1, segments for each acknowledged in slow start; and the round trip both are of. */
	u64 avoidance;
	u64 slow_start;
	u32 rtt;
};
#include "window.h"

static inline void on_init(struct sock *sk)
{
	control(sk)->avoidance = ONE;
	control(sk)->slow_start = ONE;
}

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	u32 rtt = window(sk)->rtt_min;
	u64 rho;

	(void)ack;
	/* The least round trip, so that a queue does not feed its own growth. */
	if (rtt == c->rtt)
		return;
	c->rtt = rtt;
	/* Caini and Firrincieli 2004 section 3: never slower than Reno. */
	rho = clamp(ratio(rtt, rtt0), ONE, 60 * ONE);
	c->avoidance = mul(rho, rho);
	c->slow_start = exp2_of(rho) - ONE;
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	u32 segments = counted(acked, count_acks);

	if (is_cwnd_limited(sk) && !slow_start_by(sk, segments, control(sk)->slow_start))
		increase(sk, segments, control(sk)->avoidance);
}

static inline u64 on_congestion(struct sock *sk)
{
	return cwnd(sk) / 2;
}

#define NAME "hybla"
#define on_init on_init
#define on_sample on_sample
#include "hooks.h"
