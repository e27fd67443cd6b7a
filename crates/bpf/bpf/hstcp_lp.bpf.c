// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* HSTCP-LP (Kuzmanovic, Knightly and Cottrell 2004): HighSpeed TCP that yields. Twin of crates/tcp/src/congestion/hstcp_lp.rs. */
#include "twin.h"
#include "highspeed.h"

static inline u64 a_of(struct sock *sk);

static inline u64 b_of(u64 w)
{
	return decrease(w);
}

#include "low_priority.h"

static inline u64 a_of(struct sock *sk)
{
	return increase_at(&control(sk)->growth, cwnd(sk));
}

#define NAME "hstcp_lp"
#include "hooks.h"
