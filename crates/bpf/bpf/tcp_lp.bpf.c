// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* TCP-LP (Kuzmanovic and Knightly 2003): Reno that uses only what others leave. Twin of crates/tcp/src/congestion/tcp_lp.rs. */
#include "twin.h"

struct sock;
struct growth {};

static inline u64 a_of(struct sock *sk)
{
	(void)sk;
	return ONE;
}

static inline u64 b_of(u64 w)
{
	(void)w;
	return ONE / 2;
}

#include "low_priority.h"

#define NAME "tcp_lp"
#include "hooks.h"
