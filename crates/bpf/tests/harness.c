// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* A twin as a program: reads steps from its input, one a line, and writes cwnd (Q32) after each. It stands in for the kernel:
 * what the kernel does around each hook, and no more. Compiled with TWIN, the file of the twin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include TWIN

extern const struct knob *const __start_knobs[] __attribute__((weak));
extern const struct knob *const __stop_knobs[] __attribute__((weak));

static void set_knob(const char *name, u64 value)
{
	for (const struct knob *const *knob = __start_knobs; knob < __stop_knobs; knob++) {
		if (!strcmp((*knob)->name, name)) {
			*(*knob)->value = value;
			return;
		}
	}
	fprintf(stderr, "no knob is called %s\n", name);
	exit(1);
}

int main(void)
{
	static struct tcp_sock socket;
	struct tcp_sock *tp = &socket;
	struct sock *sk = (struct sock *)&socket;
	char line[256], name[64];
	unsigned long long knob, now;
	unsigned int acked, delivered, srtt, limited, open, una, nxt, out, tsval;
	int rtt;

	while (fgets(line, sizeof line, stdin)) {
		struct ack_sample sample = {};

		if (sscanf(line, "knob %63s %llu", name, &knob) == 2) {
			set_knob(name, knob);
			continue;
		} else if (sscanf(line, "init %u %u", &tp->snd_cwnd, &tp->snd_cwnd_clamp) == 2) {
			tp->snd_ssthresh = 0x7fffffff;
			ops.init(sk);
			continue;
		} else if (sscanf(line, "ack %llu %u %u %d %u %u %u %u %u %u %u", &now, &acked, &delivered, &rtt, &srtt, &limited, &open, &una, &nxt,
				  &out, &tsval) == 11) {
			tp->tcp_mstamp = now;
			tp->delivered += delivered;
			tp->srtt_us = 8 * srtt;
			tp->is_cwnd_limited = limited;
			tp->snd_una = una;
			tp->snd_nxt = nxt;
			tp->packets_out = out;
			tp->rx_opt.saw_tstamp = tsval != 0;
			tp->rx_opt.rcv_tsval = tsval;
			tp->rx_opt.rcv_tsecr = tsval;
			sample.rtt_us = rtt;
			sample.pkts_acked = acked;
			ops.pkts_acked(sk, &sample);
			if (open)
				ops.cong_avoid(sk, una, acked);
		} else if (sscanf(line, "loss %llu", &now) == 1) {
			tp->tcp_mstamp = now;
			tp->snd_ssthresh = ops.ssthresh(sk);
			/* At the end of its rate reduction. */
			tp->snd_cwnd = tp->snd_ssthresh;
		} else if (!strncmp(line, "recovered", 9)) {
			ops.cwnd_event(sk, CA_EVENT_COMPLETE_CWR);
		} else if (sscanf(line, "timeout %llu", &now) == 1) {
			tp->tcp_mstamp = now;
			tp->snd_ssthresh = ops.ssthresh(sk);
			ops.cwnd_event(sk, CA_EVENT_LOSS);
			tp->snd_cwnd = 1;
			ops.set_state(sk, TCP_CA_Loss);
		} else if (sscanf(line, "again %llu", &now) == 1) {
			tp->tcp_mstamp = now;
			tp->snd_cwnd = 1;
			ops.set_state(sk, TCP_CA_Loss);
		} else if (sscanf(line, "unasked %u %u", &tp->snd_ssthresh, &tp->snd_cwnd) == 2) {
			/* A reduction for which the hook did not run. */
		} else if (!strncmp(line, "undo", 4)) {
			tp->snd_cwnd = ops.undo_cwnd(sk);
		} else if (!strncmp(line, "restart", 7)) {
			ops.cwnd_event(sk, CA_EVENT_CWND_RESTART);
			tp->snd_cwnd = tp->snd_cwnd < 10 ? tp->snd_cwnd : 10;
		} else {
			fprintf(stderr, "not a step: %s", line);
			return 1;
		}
		printf("%llu\n", cwnd(sk));
	}
	return 0;
}
