// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* HighSpeed TCP (RFC 3649): AIMD(a(w), b(w)) above 38 segments. Twin of crates/tcp/src/congestion/highspeed.rs. */
#include "twin.h"
#include "highspeed.h"

KNOB(table, 0);
KNOB(count_acks, 0);

struct control {
	struct growth growth;
};
#include "window.h"

/* RFC 3649, appendix B: the window from which a row holds, and b(w) in hundredths. a(w) is the number of the row. */
static const struct {
	u32 w;
	u32 b;
} rows[] = {
	{38, 50}, {118, 44}, {221, 41}, {347, 38}, {495, 37}, {663, 35}, {851, 34}, {1058, 33}, {1284, 32}, {1529, 31},
	{1793, 30}, {2076, 29}, {2378, 28}, {2699, 28}, {3039, 27}, {3399, 27}, {3778, 26}, {4177, 26}, {4596, 25},
	{5036, 25}, {5497, 24}, {5979, 24}, {6483, 23}, {7009, 23}, {7558, 22}, {8130, 22}, {8726, 22}, {9346, 21},
	{9991, 21}, {10661, 21}, {11358, 20}, {12082, 20}, {12834, 20}, {13614, 19}, {14424, 19}, {15265, 19}, {16137, 19},
	{17042, 18}, {17981, 18}, {18955, 18}, {19965, 17}, {21013, 17}, {22101, 17}, {23230, 17}, {24402, 16}, {25618, 16},
	{26881, 16}, {28193, 16}, {29557, 15}, {30975, 15}, {32450, 15}, {33986, 15}, {35586, 14}, {37253, 14}, {38992, 14},
	{40808, 14}, {42707, 13}, {44694, 13}, {46776, 13}, {48961, 13}, {51258, 13}, {53677, 12}, {56230, 12}, {58932, 12},
	{61799, 12}, {64851, 11}, {68113, 11}, {71617, 11}, {75401, 10}, {79517, 10}, {84035, 10}, {89053, 10}, {94717, 9},
};

/* The number of the last row whose window is reached, 1 below the first. */
static inline u32 row(u64 w)
{
	u32 n = 1;

	for (u32 i = 1; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (w >= (u64)rows[i].w << 32)
			n = i + 1;
	return n;
}

static inline void on_ack(struct sock *sk, u32 acked)
{
	/* RFC 3649 section 5: w += a(w) / w for each segment acknowledged. */
	if (is_cwnd_limited(sk) && !slow_start(sk, acked))
		increase(sk, counted(acked, count_acks), table ? (u64)row(cwnd(sk)) << 32 : increase_at(&control(sk)->growth, cwnd(sk)));
}

static inline u64 on_congestion(struct sock *sk)
{
	/* RFC 3649 section 5: w = (1 - b(w)) w. */
	u32 n;

	if (!table)
		return mul(cwnd(sk), ONE - decrease(cwnd(sk)));
	n = row(cwnd(sk));
	if (n > sizeof(rows) / sizeof(rows[0]))
		return cwnd(sk);
	return mul(cwnd(sk), ONE - rows[n - 1].b * ONE / 100);
}

#define NAME "highspeed"
#include "hooks.h"
