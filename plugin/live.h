/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of running pods. */
#pragma once

#include "lib/strbuf.h"
#include "plugin/options.h"

/* Carries out `top [POD]`. Returns the exit code or a negative error. */
int live_top(const struct options *o, struct strbuf *out, struct err *err);
