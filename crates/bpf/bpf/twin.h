/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* First part of each twin: the kernel, or in tests a stand-in, and arithmetic. window.h comes once struct control is known. */
#pragma once

#ifdef __bpf__
#include "kernel.h"
#else
#include "host.h"
#endif
#include "fixed.h"
