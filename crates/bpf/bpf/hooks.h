/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The hooks of tcp_congestion_ops, the same for every twin; comes last in each. A twin says before it:
 *   NAME                        as the core's registry has it
 *   on_ack(sk, acked)           new data was acknowledged outside recovery, and cwnd is in use or not (is_cwnd_limited)
 *   on_congestion(sk)           a loss or a mark; gives the new ssthresh, and cwnd goes there
 * and, where it has more to do than nothing:
 *   on_init(sk)                 the connection is established, or has just been given this control; all is zero
 *   on_sample(sk, ack)          an ACK in whatever phase delivered something; comes before on_ack
 *   on_timeout(sk)              after on_congestion, where it was a timeout: gives ssthresh again. May come twice
 *   on_recovered(sk)            a reduction is over, and cwnd at ssthresh
 *   on_undo(sk)                 the last reduction was for nothing; cwnd and ssthresh are given back already
 *   on_restart(sk)              sending starts again after idleness */
#pragma once

/* The ssthresh that a loss or a mark leads to; what was before is kept. RFC 5681 Eq. 4: no less than two segments. */
static inline u64 decongested(struct sock *sk)
{
	struct window *w = window(sk);

	w->before_cwnd = cwnd(sk);
	w->before_ssthresh = ssthresh(sk);
	return max(on_congestion(sk), 2 * ONE);
}

/* A kernel that was changed by others left hook_ssthresh out now and then, and took what lay on its stack for ssthresh; rate reduction let
 * cwnd go there (docs/kernel-controls.md). No ssthresh is that large. So with the next ACK what is in flight counts as the window, and is
 * reduced. */
static inline void mend(struct sock *sk)
{
	if (tcp_sock(sk)->snd_ssthresh <= TCP_INFINITE_SSTHRESH)
		return;
	set_cwnd(sk, min(cwnd(sk), max((u64)in_flight(sk) << 32, 2 * ONE)));
	set_ssthresh(sk, cwnd(sk));
	set_ssthresh(sk, decongested(sk));
}

SEC("struct_ops")
void BPF_PROG(hook_init, struct sock *sk)
{
	begin(sk);
#ifdef on_init
	on_init(sk);
#endif
}

SEC("struct_ops")
void BPF_PROG(hook_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ack ack = { .acked = sample->pkts_acked };

	mend(sk);
	if (!take_in(sk, &ack, sample->rtt_us))
		return;
#ifdef on_sample
	on_sample(sk, &ack);
#endif
}

SEC("struct_ops")
void BPF_PROG(hook_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	(void)ack;
	on_ack(sk, acked);
}

SEC("struct_ops")
u32 BPF_PROG(hook_ssthresh, struct sock *sk)
{
	struct window *w = window(sk);
	u64 to = decongested(sk);

	/* The kernel moves snd_cwnd there, by proportional rate reduction. */
	w->fraction = to;
	w->ssthresh_fraction = to;
	return to >> 32;
}

SEC("struct_ops")
void BPF_PROG(hook_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if ((u32)event == EVENT(CA_EVENT_LOSS)) {
		/* The kernel has asked for ssthresh, without a word that it was a timeout. */
#ifdef on_timeout
		window(sk)->fraction = window(sk)->before_cwnd;
		set_ssthresh(sk, max(on_timeout(sk), 2 * ONE));
#endif
		window(sk)->fraction = 0;
	} else if ((u32)event == EVENT(CA_EVENT_COMPLETE_CWR)) {
#ifdef on_recovered
		on_recovered(sk);
#endif
	} else if ((u32)event == EVENT(CA_EVENT_CWND_RESTART)) {
		/* RFC 5681 section 4.1: the kernel takes a larger window back to the initial one. */
		if (tcp_sock(sk)->snd_cwnd >= TCP_INIT_CWND)
			window(sk)->fraction = 0;
#ifdef on_restart
		on_restart(sk);
#endif
	}
}

SEC("struct_ops")
void BPF_PROG(hook_set_state, struct sock *sk, u8 new_state)
{
	if (new_state != TCP_CA_Loss)
		return;
	/* A timeout repeated without progress is told of here alone; ssthresh stays (RFC 5681 section 3.1 after Eq. 4). */
#ifdef on_timeout
	on_timeout(sk);
#endif
	window(sk)->fraction = 0;
}

SEC("struct_ops")
u32 BPF_PROG(hook_undo_cwnd, struct sock *sk)
{
	struct window *w = window(sk);

	if (w->before_cwnd) {
		u64 to = max(cwnd(sk), w->before_cwnd);

		w->fraction = to;
		set_ssthresh(sk, max(ssthresh(sk), w->before_ssthresh));
		w->before_cwnd = 0;
#ifdef on_undo
		on_undo(sk);
#endif
		return to >> 32;
	}
	return tcp_sock(sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ops = {
	.init = (void *)hook_init,
	.pkts_acked = (void *)hook_pkts_acked,
	.cong_avoid = (void *)hook_cong_avoid,
	.ssthresh = (void *)hook_ssthresh,
	.cwnd_event = (void *)hook_cwnd_event,
	.set_state = (void *)hook_set_state,
	.undo_cwnd = (void *)hook_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "lf_" NAME,
};
