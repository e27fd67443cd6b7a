/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Base of a twin in the kernel; host.h is its counterpart. */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#define RELOCATED __attribute__((preserve_access_index))
#include "types.h"

/* Types that libbpf's list of helpers names and we do not use. */
enum bpf_map_type { BPF_MAP_TYPE_UNSPEC, BPF_MAP_TYPE_SK_STORAGE = 24 };
#define BPF_F_NO_PREALLOC 1
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* A parameter: the loader writes its value before the program is verified. */
#define KNOB(name, value) const volatile u64 name SEC(".rodata.knobs") = value

/* A function that is verified once, for whatever arguments, and not again with each path to each call. */
#define FUNCTION __attribute__((noinline))

#define BITFIELD(from, field) BPF_CORE_READ_BITFIELD(from, field)
#define EVENT(name) ((u32)bpf_core_enum_value(enum tcp_ca_event, name))

char LICENSE[] SEC("license") = "Dual MIT/GPL";
