/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands about running pods: top, snapshot and policy explain. Each returns the exit code, or
 * a negative error.
 */
#pragma once

#include "lib/strbuf.h"
#include "plugin/options.h"

int live_top(const struct options *o, struct strbuf *out, struct err *err);
int live_snapshot(const struct options *o, struct strbuf *out, struct err *err);
int live_policy(const struct options *o, struct strbuf *out, struct err *err);
