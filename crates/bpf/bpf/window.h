/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Common part of every twin: the window with its threshold, slow start, growth by fractions of a segment, and the reactions that are the
 * same for all. The twin of crates/tcp/src/congestion/window.rs. Windows are in segments, Q32: the kernel has the whole segments in snd_cwnd
 * and snd_ssthresh, and the fractions are kept here. */
#pragma once

struct window {
	/* cwnd and ssthresh before the last reduction, while it can be taken back; a cwnd of zero: it cannot. */
	u64 before_cwnd;
	u64 before_ssthresh;
	u32 fraction;
	u32 ssthresh_fraction;
	/* Round trips counted in segments: one more when something sent after round_end was, is acknowledged. */
	u32 round;
	u32 round_end;
	/* In us. The least of the connection so far, zero before the first; that of this ACK, negative where it has none. */
	u32 rtt_min;
	s32 rtt;
	/* tp->delivered at the last ACK. */
	u32 delivered;
};

/* An ACK that delivered something. Counts are of segments. */
struct ack {
	u32 acked; /* cumulatively */
	u32 delivered; /* cumulatively or by SACK; each counts once */
	bool is_new_round;
};

/* State of a connection; struct control is the twin's own. */
struct state {
	struct window window;
	struct control control;
};
_Static_assert(sizeof(struct state) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "more than the kernel keeps for a control");

static inline struct tcp_sock *tcp_sock(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct state *state(struct sock *sk)
{
	return (struct state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline struct window *window(struct sock *sk)
{
	return &state(sk)->window;
}

static inline struct control *control(struct sock *sk)
{
	return &state(sk)->control;
}

static inline u64 cwnd(struct sock *sk)
{
	return (u64)tcp_sock(sk)->snd_cwnd << 32 | window(sk)->fraction;
}

static inline u64 ssthresh(struct sock *sk)
{
	return (u64)tcp_sock(sk)->snd_ssthresh << 32 | window(sk)->ssthresh_fraction;
}

static inline void set_cwnd(struct sock *sk, u64 to)
{
	tcp_sock(sk)->snd_cwnd = to >> 32;
	window(sk)->fraction = to;
}

static inline void set_ssthresh(struct sock *sk, u64 to)
{
	tcp_sock(sk)->snd_ssthresh = to >> 32;
	window(sk)->ssthresh_fraction = to;
}

/* Begins the state of a connection. */
static inline void begin(struct sock *sk)
{
	struct state *s = state(sk);
	struct tcp_sock *tp = tcp_sock(sk);

	s->window = (struct window){ .round_end = tp->snd_nxt, .delivered = tp->delivered, .rtt = -1 };
	s->control = (struct control){};
}

/* Takes the deliveries and the round trip of an ACK in. Returns true if it delivered something. */
static inline bool take_in(struct sock *sk, struct ack *ack, s32 rtt_us)
{
	struct tcp_sock *tp = tcp_sock(sk);
	struct window *w = window(sk);

	ack->delivered = tp->delivered - w->delivered;
	w->rtt = rtt_us;
	w->delivered = tp->delivered;
	if (!ack->delivered)
		return false;
	if (w->rtt >= 0 && (!w->rtt_min || (u32)w->rtt < w->rtt_min))
		w->rtt_min = w->rtt;
	if ((s32)(tp->snd_una - w->round_end) > 0) {
		w->round++;
		w->round_end = tp->snd_nxt;
		ack->is_new_round = true;
	}
	return true;
}

/* RFC 5681 section 3.1. */
static inline bool in_slow_start(struct sock *sk)
{
	return cwnd(sk) < ssthresh(sk);
}

/* Returns true if cwnd limits the sender. In slow start this is also true if more than half of cwnd was used (RFC 7661 section 4.3.1 wants
 * half as well): it doubles in a round trip. */
static inline bool is_cwnd_limited(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sock(sk);

	if (BITFIELD(tp, is_cwnd_limited))
		return true;
	return in_slow_start(sk) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Segments in flight now. */
static inline u32 in_flight(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sock(sk);

	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* Bounds a window to no more than can be used, unless cwnd is there already. */
static inline u64 bounded(struct sock *sk, u64 wanted)
{
	return min(wanted, max((u64)tcp_sock(sk)->snd_cwnd_clamp << 32, cwnd(sk)));
}

static inline void grow(struct sock *sk, u64 segments)
{
	set_cwnd(sk, bounded(sk, plus(cwnd(sk), segments)));
}

/* Shrinks cwnd, to no less than two segments. */
static inline void shrink(struct sock *sk, u64 segments)
{
	u64 now = cwnd(sk);

	set_cwnd(sk, max(less(now, segments), min(now, 2 * ONE)));
}

/* Below ssthresh: slow start takes this ACK, for `factor` segments each segment acknowledged. Whether it did. What a factor over one adds
 * ends at ssthresh: one ACK might go far beyond it. */
static inline bool slow_start_by(struct sock *sk, u32 acked, u64 factor)
{
	u64 plain = (u64)acked << 32, room = less(ssthresh(sk), cwnd(sk));

	if (!in_slow_start(sk))
		return false;
	grow(sk, min(mul(plain, factor), max(room, plain)));
	return true;
}

static inline bool slow_start(struct sock *sk, u32 acked)
{
	return slow_start_by(sk, acked, ONE);
}

/* Additive increase: `segments` for each window acknowledged. */
static inline void increase(struct sock *sk, u32 acked, u64 segments)
{
	grow(sk, mul_div(segments, (u64)acked << 32, cwnd(sk)));
}

/* Returns the segments that an ACK counts for: one at most for a control that counts ACKs. */
static inline u32 counted(u32 acked, bool acks)
{
	return acks ? min(acked, 1U) : acked;
}

/* Moves cwnd by the control's own choice and not for a loss, to no less than one segment. Ends slow start. */
static inline void move_to(struct sock *sk, u64 to)
{
	set_cwnd(sk, max(to, ONE));
	set_ssthresh(sk, max(min(ssthresh(sk), cwnd(sk)), 2 * ONE));
}
