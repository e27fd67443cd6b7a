// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* A control that an agent in user space steers: it measures, as crates/tcp/src/congestion/agent/meter.rs does, and sets the window and the pacing rate
 * that it is ordered. Until the first order it is in slow start. An order holds in recovery and after timeouts, as the agent's does in the
 * simulator: a kernel whose control has cong_control leaves cwnd to it. */
#include "twin.h"

/* Order of the agent, which alone writes it. crates/bpf/src/agent.rs has the same layout, as of struct step. */
struct order {
	u64 cwnd; /* segments; zero: none yet */
	u64 pacing_rate; /* bytes per second; zero: none */
	u64 taken; /* number of the last step that the agent has read */
	u64 every; /* us between two steps; zero: one per round trip */
};

/* Sums over the ACKs of a step. Times are in us, since the step began. */
struct sums {
	u64 acks, delivered, limited, recovery, reductions, timeouts, rtts, rtt, t, tt, t_rtt;
};

/* A step that is over. Segments, and us. */
struct step {
	u64 number; /* from 1; zero: none yet */
	u64 begin, now, cwnd, in_flight, srtt, rtt_min;
	struct sums sums;
};

/* The step that is over stays until the agent has read it: the agent sees whole steps only. */
struct meter {
	struct step over;
	struct sums sums;
	u64 begin;
	u64 round; /* of the last step */
};

#define OF_SOCKETS(of)                                \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE); \
		__uint(map_flags, BPF_F_NO_PREALLOC);  \
		__type(key, int);                      \
		__type(value, of);                     \
	}

/* The agent makes the entries of a socket. One without them is never steered. */
OF_SOCKETS(struct order) orders SEC(".maps");
OF_SOCKETS(struct meter) meters SEC(".maps");

struct control {
	bool timed_out; /* the timeout that set_state will tell of has been counted */
};
#include "window.h"

/* Share of window per smoothed round trip at which a sender without an ordered rate is paced, if it is: tcp_pacing_ca_ratio, ip-sysctl. */
#define PACING_PERCENT 120

static inline struct order *order(struct sock *sk)
{
	return bpf_sk_storage_get(&orders, sk, 0, 0);
}

static inline struct meter *meter(struct sock *sk)
{
	return bpf_sk_storage_get(&meters, sk, 0, 0);
}

/* Carries the order out. Returns false if there is none yet. */
static inline bool obey(struct sock *sk)
{
	struct order *o = order(sk);
	struct tcp_sock *tp = tcp_sock(sk);
	u64 cwnd;

	if (!o || !o->cwnd)
		return false;
	cwnd = min(o->cwnd, tp->snd_cwnd_clamp);
	tp->snd_cwnd = cwnd;
	if (o->pacing_rate) {
		if (!sk->sk_pacing_status)
			sk->sk_pacing_status = SK_PACING_NEEDED;
		sk->sk_pacing_rate = o->pacing_rate;
	} else if (tp->srtt_us) {
		sk->sk_pacing_rate = cwnd * tp->mss_cache * 8 * (1000000 / 100 * PACING_PERCENT) / tp->srtt_us;
	}
	return true;
}

/* Adds an ACK that delivered something to the sums. */
static inline void add(struct sock *sk, struct meter *m, const struct ack *ack)
{
	struct tcp_sock *tp = tcp_sock(sk);
	struct sums *sums = &m->sums;
	s32 rtt = window(sk)->rtt;
	u64 t = tp->tcp_mstamp - m->begin;

	sums->acks++;
	sums->delivered += ack->delivered;
	sums->limited += BITFIELD(tp, is_cwnd_limited);
	sums->recovery += BITFIELD(&tp->inet_conn, icsk_ca_state) == TCP_CA_Recovery;
	if (rtt < 0)
		return;
	sums->rtts++;
	sums->rtt += rtt;
	sums->t += t;
	sums->tt += t * t;
	sums->t_rtt += t * rtt;
}

/* Ends the step, if the agent has read the last one, and it is time. */
static inline void end_step(struct sock *sk, struct meter *m, const struct order *o, u32 in_flight)
{
	struct tcp_sock *tp = tcp_sock(sk);
	struct window *w = window(sk);
	u64 number = m->over.number;
	bool is_time = o->every ? tp->tcp_mstamp - m->begin >= o->every : w->round != m->round;

	if (o->taken != number || (number && !is_time))
		return;
	m->over.begin = m->begin;
	m->over.now = tp->tcp_mstamp;
	m->over.cwnd = tp->snd_cwnd;
	m->over.in_flight = in_flight;
	m->over.srtt = tp->srtt_us / 8;
	m->over.rtt_min = w->rtt_min;
	m->over.sums = m->sums;
	/* The number comes last, for all processors. */
	__sync_fetch_and_add(&m->over.number, 1);
	m->sums = (struct sums){};
	m->begin = tp->tcp_mstamp;
	m->round = w->round;
}

SEC("struct_ops")
void BPF_PROG(hook_init, struct sock *sk)
{
	begin(sk);
}

SEC("struct_ops")
void BPF_PROG(hook_cong_control, struct sock *sk, u32 ack_seq, int flag, const struct rate_sample *rate)
{
	struct meter *m = meter(sk);
	struct order *o = order(sk);
	struct ack ack = {};
	bool is_ordered = obey(sk), has_delivered = take_in(sk, &ack, rate->rtt_us);

	(void)ack_seq;
	(void)flag;
	if (!has_delivered)
		return;
	if (!is_ordered && BITFIELD(&tcp_sock(sk)->inet_conn, icsk_ca_state) < TCP_CA_Recovery)
		slow_start(sk, ack.delivered);
	if (!m || !o)
		return;
	if (!m->begin)
		m->begin = tcp_sock(sk)->tcp_mstamp;
	add(sk, m, &ack);
	end_step(sk, m, o, rate->prior_in_flight);
}

/* RFC 5681 Eq. 4. Without an order cwnd goes there, too. */
SEC("struct_ops")
u32 BPF_PROG(hook_ssthresh, struct sock *sk)
{
	struct meter *m = meter(sk);
	u32 to = max(tcp_sock(sk)->snd_cwnd / 2, 2);

	if (m)
		m->sums.reductions++;
	if (!obey(sk))
		tcp_sock(sk)->snd_cwnd = to;
	return to;
}

SEC("struct_ops")
void BPF_PROG(hook_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct meter *m = meter(sk);

	if ((u32)event != EVENT(CA_EVENT_LOSS) || !m)
		return;
	/* The kernel has asked for ssthresh, without a word that it was a timeout. */
	control(sk)->timed_out = true;
	m->sums.reductions -= m->sums.reductions > 0;
	m->sums.timeouts++;
}

SEC("struct_ops")
void BPF_PROG(hook_set_state, struct sock *sk, u8 new_state)
{
	struct meter *m = meter(sk);

	if (new_state != TCP_CA_Loss)
		return;
	/* A timeout repeated without progress is told of here alone. */
	if (m && !control(sk)->timed_out)
		m->sums.timeouts++;
	control(sk)->timed_out = false;
	obey(sk);
}

SEC("struct_ops")
u32 BPF_PROG(hook_undo_cwnd, struct sock *sk)
{
	return tcp_sock(sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ops = {
	.init = (void *)hook_init,
	.cong_control = (void *)hook_cong_control,
	.ssthresh = (void *)hook_ssthresh,
	.cwnd_event = (void *)hook_cwnd_event,
	.set_state = (void *)hook_set_state,
	.undo_cwnd = (void *)hook_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "lf_agent",
};
