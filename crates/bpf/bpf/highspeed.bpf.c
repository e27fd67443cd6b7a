// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* HighSpeed TCP (RFC 3649): AIMD(a(w), b(w)) above 38 segments. Twin of crates/tcp/src/congestion/highspeed.rs. */
#include "twin.h"
#include "highspeed.h"

struct control {
	struct growth growth;
};
#include "window.h"

static inline void on_ack(struct sock *sk, u32 acked)
{
	/* RFC 3649 section 5: w += a(w) / w for each segment acknowledged. */
	if (is_cwnd_limited(sk) && !slow_start(sk, acked))
		increase(sk, acked, increase_at(&control(sk)->growth, cwnd(sk)));
}

static inline u64 on_congestion(struct sock *sk)
{
	/* RFC 3649 section 5: w = (1 - b(w)) w. */
	return mul(cwnd(sk), ONE - decrease(cwnd(sk)));
}

#define NAME "highspeed"
#include "hooks.h"
