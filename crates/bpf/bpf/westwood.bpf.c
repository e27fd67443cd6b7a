// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Westwood+ (Grieco and Mascolo 2004): Reno whose threshold after a loss is what the path has been delivering. Twin of
 * crates/tcp/src/congestion/westwood.rs. */
#include "twin.h"

KNOB(filter, Q32(0.9));
KNOB(rate_halving, 0);
KNOB(renew_rtt_min, 0);

/* Times are in us. Grieco and Mascolo 2004 section 2: samples are taken over a round trip, but no less than this. */
#define SECOND 1000000
#define INTERVAL_MIN 50000

struct control {
	u64 bandwidth; /* segments a second, Q32 */
	u64 since; /* when delivered began to count; zero: it has not */
	u32 delivered;
	u32 rtt_min; /* zero: none since the connection began, or since the last timeout with renew_rtt_min */
	bool is_measured;
	bool halved; /* from a loss to the end of its repair, with rate_halving */
};
#include "window.h"

static inline void on_sample(struct sock *sk, const struct ack *ack)
{
	struct control *c = control(sk);
	u64 now = tcp_sock(sk)->tcp_mstamp, span = now - c->since, sample;
	s32 rtt = window(sk)->rtt;

	if (rtt >= 0 && (!c->rtt_min || (u32)rtt < c->rtt_min))
		c->rtt_min = rtt;
	if (!c->since) {
		c->since = now;
		return;
	}
	c->delivered += ack->delivered;
	if (span < max(INTERVAL_MIN, rtt >= 0 ? (u32)rtt : tcp_sock(sk)->srtt_us / 8))
		return;
	sample = mul_div(c->delivered, SECOND * ONE, span);
	c->bandwidth = c->is_measured ? mul(filter, c->bandwidth) + mul(ONE - filter, sample) : sample;
	c->is_measured = true;
	c->since = now;
	c->delivered = 0;
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	if (is_cwnd_limited(sk) && !slow_start(sk, acked))
		increase(sk, acked, ONE);
}

/* Grieco and Mascolo 2004 section 2: BWE RTTmin; before there is an estimate, half of cwnd (RFC 5681 Eq. 4). */
static inline u64 pipe(struct sock *sk)
{
	struct control *c = control(sk);

	return c->is_measured && c->rtt_min ? mul_div(c->bandwidth, c->rtt_min, SECOND) : cwnd(sk) / 2;
}

static inline u64 on_timeout(struct sock *sk)
{
	u64 to = pipe(sk);

	control(sk)->halved = false;
	if (renew_rtt_min)
		control(sk)->rtt_min = 0;
	return to;
}

static inline u64 on_congestion(struct sock *sk)
{
	control(sk)->halved = rate_halving;
	/* The estimate lags, and a loss must not be a reason to grow. */
	return rate_halving ? cwnd(sk) / 2 : min(pipe(sk), cwnd(sk));
}

static inline void on_recovered(struct sock *sk)
{
	struct control *c = control(sk);

	if (c->halved && c->is_measured && c->rtt_min) {
		set_ssthresh(sk, max(min(pipe(sk), (u64)tcp_sock(sk)->snd_cwnd_clamp << 32), 2 * ONE));
		set_cwnd(sk, ssthresh(sk));
	}
	c->halved = false;
}

static inline void on_undo(struct sock *sk)
{
	control(sk)->halved = false;
}

static inline void on_restart(struct sock *sk)
{
	/* Idleness is no bandwidth of the path. */
	control(sk)->since = 0;
	control(sk)->delivered = 0;
}

#define NAME "westwood"
#define on_sample on_sample
#define on_timeout on_timeout
#define on_recovered on_recovered
#define on_undo on_undo
#define on_restart on_restart
#include "hooks.h"
