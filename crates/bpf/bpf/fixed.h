/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Fixed point: 32 bits before the point, 32 after it ("Q32"). BPF has neither floating point nor products of 128 bits nor signed division. */
#pragma once

#define ONE (1ULL << 32)
#define MOST (~0ULL)

/* A constant, by its decimal value. */
#define Q32(x) ((u64)((x) * 4294967296.0 + 0.5))

static inline u64 min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 clamp(u64 x, u64 least, u64 most)
{
	return min(max(x, least), most);
}

static inline u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* a + b, or the most there is. */
static inline u64 plus(u64 a, u64 b)
{
	return a + b < a ? MOST : a + b;
}

/* The number of bits that x needs. */
FUNCTION u32 bits(u64 x)
{
	u32 n = 0;

	for (u32 step = 32; step; step /= 2) {
		if (x >> step) {
			x >>= step;
			n += step;
		}
	}
	return n + (x != 0);
}

/* a b / c, rounded down: exact where each is under 2^32, else to 2 parts in 2^31 or less. The most there is if that is less. */
FUNCTION u64 mul_div(u64 a, u64 b, u64 c)
{
	u32 n, up = 0, down = 0;
	u64 p;

	if (!c)
		return MOST;
	n = bits(a);
	if (n > 32) {
		a >>= n - 32;
		up += n - 32;
	}
	n = bits(b);
	if (n > 32) {
		b >>= n - 32;
		up += n - 32;
	}
	n = bits(c);
	if (n > 32) {
		c >>= n - 32;
		down += n - 32;
	}
	p = a * b;
	if (!p)
		return 0;
	/* The product is moved up as far as it goes, so that the quotient has 32 digits at least. */
	n = 64 - bits(p);
	p = (p << n) / c;
	down += n;
	if (up >= down) {
		up -= down;
		return bits(p) + up > 64 ? MOST : p << up;
	}
	down -= up;
	return down > 63 ? 0 : p >> down;
}

/* a b, in Q32. */
static inline u64 mul(u64 a, u64 b)
{
	return mul_div(a, b, ONE);
}

/* a / b in Q32, of two of one unit. */
static inline u64 ratio(u64 a, u64 b)
{
	return mul_div(a, ONE, b);
}

/* The logarithm to base 2 of x > 0, both in Q32; by squaring: each doubles the logarithm of what is left, and tells its next digit. */
FUNCTION s64 log2_of(u64 x)
{
	u32 n = bits(x);
	u64 m = n > 32 ? x >> (n - 32) : x << (32 - n); /* in [1, 2), Q31 */
	s64 log = ((s64)n - 33) * (s64)ONE;

	for (u32 digit = 31; digit >= 8; digit--) {
		m = (m * m) >> 31;
		if (m >> 32) {
			m >>= 1;
			log += 1LL << digit;
		}
	}
	return log;
}

/* 2^x, both in Q32; the most there is from x = 32 on. By the series of the exponential function. */
FUNCTION u64 exp2_of(s64 x)
{
	s64 whole = x >> 32;
	u64 y = (((u64)x & (ONE - 1)) * 2977044472ULL) >> 32; /* ln 2 of it, Q32 */
	u64 sum = 1ULL << 31; /* in [1, 2), Q31 */

	if (whole > 31)
		return MOST;
	if (whole < -32)
		return 0;
	for (u32 n = 12; n; n--)
		sum = (1ULL << 31) + (y * sum >> 32) / n;
	return whole >= -1 ? sum << (whole + 1) : sum >> (-1 - whole);
}
