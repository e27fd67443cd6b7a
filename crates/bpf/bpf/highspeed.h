/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* a(w) and b(w) of HighSpeed TCP (RFC 3649 section 5), for what stands on them. All in Q32, logarithms to base 2. */
#pragma once

#define LOW_WINDOW (38 * ONE)
/* Largest window for which RFC 3649's appendix B computes b(w). */
#define LAST_WINDOW (100000 * ONE)
#define LOG_LOW_WINDOW Q32(5.247927513443585)
/* Logarithms of High_Window / Low_Window, 83,000 / 38; of Low_P, 1e-3; and of High_P / Low_P, 1e-4, without signs. */
#define LOG_SPAN Q32(11.092896202565427)
#define LOG_LOW_P Q32(9.965784284662087)
#define LOG_P_SPAN Q32(13.287712379549449)

/* Position of w > Low_Window between Low_Window (0) and High_Window (1), on a logarithmic scale. */
static inline u64 position(u64 w)
{
	return ratio(log2_of(w) - LOG_LOW_WINDOW, LOG_SPAN);
}

/* b(w): the share of a window of w that a loss takes. */
static inline u64 decrease(u64 w)
{
	if (w <= LOW_WINDOW)
		return ONE / 2;
	/* Linear in log w, from 0.5 to High_Decrease, 0.1; beyond the RFC's table it stays at what it is at its end. */
	return ONE / 2 - mul(Q32(0.4), position(min(w, LAST_WINDOW)));
}

/* a(w): the segments that a window of w grows by in a round trip: what balances b(w) at the loss rate p(w). */
static inline u64 increase_of(u64 w)
{
	u64 b;

	if (w <= LOW_WINDOW)
		return ONE;
	b = decrease(w);
	/* w w p(w) 2 b / (2 - b). */
	return max(ONE, mul_div(exp2_of(2 * log2_of(w) - (s64)LOG_LOW_P - (s64)mul(position(w), LOG_P_SPAN)), 2 * b, 2 * ONE - b));
}

/* a(w), good for one segment more than the window it was computed for: logarithms are not for every ACK. */
struct growth {
	u32 a; /* 20 bits after the point */
	u32 computed_at; /* 11 */
};

static inline u64 increase_at(struct growth *growth, u64 w)
{
	if ((u32)(w >> 21) - growth->computed_at >= 1 << 11) {
		growth->computed_at = w >> 21;
		growth->a = min(increase_of(w) >> 12, ~0U);
	}
	return (u64)growth->a << 12;
}
