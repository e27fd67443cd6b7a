/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Base of a twin in a test on this machine, compiled as plain C: the same names as kernel.h, without a kernel. */
#pragma once

#define RELOCATED
#include "types.h"

#define SEC(name) __attribute__((used))
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define FUNCTION static
#define BITFIELD(from, field) ((from)->field)
#define EVENT(name) ((u32)(name))

/* The parameters of a twin, found by name. */
struct knob {
	const char *name;
	u64 *value;
};

#define KNOB(name, initial) \
	static u64 name = initial; \
	static const struct knob *const knob_##name __attribute__((used, section("knobs"))) = &(const struct knob){ #name, &name }
