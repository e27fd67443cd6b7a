/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The fields of the kernel's structures that the twins read and write. In BPF each is found by name in the kernel that loads the program
 * (CO-RE), so that only names and types matter here, and one object serves every kernel. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define bool _Bool
#define true 1
#define false 0

#define TCP_CA_NAME_MAX 16
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4
#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffffU
#define TCP_CONG_NON_RESTRICTED 1
#define SK_PACING_NEEDED 1

struct sock {
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate; /* bytes per second */
} RELOCATED;

struct inet_sock {
	struct sock sk;
} RELOCATED;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
} RELOCATED;

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1;
} RELOCATED;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	u32 mss_cache;
	u64 tcp_mstamp; /* when this ACK arrived, in us */
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u32 delivered; /* segments, cumulatively or by SACK; each counts once */
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 srtt_us; /* eight times the smoothed round trip */
	u8 is_cwnd_limited : 1;
} RELOCATED;

struct ack_sample {
	u32 pkts_acked; /* cumulatively */
	s32 rtt_us; /* negative: none */
} RELOCATED;

struct rate_sample {
	long rtt_us; /* negative: none */
	u32 prior_in_flight; /* segments, before this ACK */
} RELOCATED;

enum tcp_ca_event {
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rate);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	u32 flags;
	char name[TCP_CA_NAME_MAX];
} RELOCATED;
