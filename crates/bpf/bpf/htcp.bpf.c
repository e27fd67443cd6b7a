// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* H-TCP (Leith and Shorten 2004): the increase grows with the time since the last congestion event, and the decrease is what empties the
 * queue and no more. Twin of crates/tcp/src/congestion/htcp.rs. */
#include "twin.h"

KNOB(rtt_scaling, 1);
KNOB(adaptive_backoff, 1);

/* Leith and Shorten 2004 section 2. Times are in us. */
#define SECOND 1000000
#define DELTA_L SECOND
#define DELTA_B Q32(0.2)
#define BETA_MIN Q32(0.5)
#define BETA_MAX Q32(0.8)
#define RTT_REFERENCE 100000

/* Time between two congestion events. */
struct epoch {
	u64 start; /* later by the time in which cwnd was not the limit; zero: none */
	u32 rtt_max;
	u32 beta; /* Q32 */
};

struct control {
	struct epoch epoch, before;
	/* Segments a second, 6 bits after the point: delivered just before the epoch, before the one before it, and in the last round. */
	u32 epoch_throughput, before_throughput, throughput;
	u32 round_start;
	u32 delivered;
	u32 last_ack;
};
#include "window.h"

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	struct epoch *epoch = &c->epoch;
	u64 now = tcp_sock(sk)->tcp_mstamp;

	c->delivered += ack->delivered;
	if (ack->is_new_round) {
		u32 span = (u32)now - c->round_start;

		if (span)
			c->throughput = min(mul_div(c->delivered, (u64)SECOND << 6, span), ~0U);
		c->round_start = now;
		c->delivered = 0;
	}
	if (!epoch->start) {
		*epoch = (struct epoch){ .start = now, .beta = BETA_MIN };
		c->epoch_throughput = 0;
	}
	if (window(sk)->rtt > 0)
		epoch->rtt_max = max(epoch->rtt_max, window(sk)->rtt);
	/* Time in which cwnd was not tested says nothing about the path. */
	if (!is_cwnd_limited(sk))
		epoch->start += min((u32)now - c->last_ack, less(now, epoch->start));
	c->last_ack = now;
}

/* Segments a round trip. */
static inline u64 alpha(struct sock *sk)
{
	struct control *c = control(sk);
	u64 d = ratio(less(less(tcp_sock(sk)->tcp_mstamp, c->epoch.start), DELTA_L), SECOND);
	u64 alpha = ONE + mul(d, plus(10 * ONE, d / 4));
	u32 rtt_min = window(sk)->rtt_min;

	if (!c->epoch.start)
		return ONE;
	alpha = mul(2 * (ONE - c->epoch.beta), alpha);
	if (!rtt_scaling || !rtt_min)
		return alpha;
	return mul(alpha, clamp(ratio(rtt_min, RTT_REFERENCE), Q32(0.1), 10 * ONE));
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	/* Never faster than slow start. */
	if (is_cwnd_limited(sk) && !slow_start(sk, acked))
		increase(sk, acked, min(alpha(sk), cwnd(sk)));
}

static inline u64 beta(struct sock *sk)
{
	struct control *c = control(sk);
	u64 now = c->throughput, then = c->epoch_throughput;

	/* Leith and Shorten 2004 section 2: RTTmin / RTTmax where the throughput is that of the last event; else half. */
	if (!adaptive_backoff || !c->epoch.start || !c->epoch.rtt_max || !then || max(less(now, then), less(then, now)) > mul(DELTA_B, then))
		return BETA_MIN;
	return clamp(ratio(window(sk)->rtt_min, c->epoch.rtt_max), BETA_MIN, BETA_MAX);
}

static inline u64 on_congestion(struct sock *sk)
{
	struct control *c = control(sk);
	u64 keep = beta(sk);

	c->before = c->epoch;
	c->before_throughput = c->epoch_throughput;
	c->epoch = (struct epoch){ .start = tcp_sock(sk)->tcp_mstamp, .beta = keep };
	c->epoch_throughput = c->throughput;
	return mul(cwnd(sk), keep);
}

static inline u64 on_timeout(struct sock *sk)
{
	control(sk)->epoch.beta = BETA_MIN;
	return mul(cwnd(sk), BETA_MIN);
}

static inline void on_undo(struct sock *sk)
{
	struct control *c = control(sk);

	c->epoch = c->before;
	c->epoch_throughput = c->before_throughput;
}

static inline void on_restart(struct sock *sk)
{
	/* The path may be another one by now: time counts from the next ACK. */
	control(sk)->epoch.start = 0;
}

#define NAME "htcp"
#define on_sample on_sample
#define on_timeout on_timeout
#define on_undo on_undo
#define on_restart on_restart
#include "hooks.h"
