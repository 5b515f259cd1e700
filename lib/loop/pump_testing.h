/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a pump (errand.h) that counts how often it is called while an errand is waited for. */
#pragma once

#include "lib/loop/errand.h"
#include "lib/units.h"

static unsigned int n_pumped;

static int64_t count_pumping(int64_t now_ns, void *arg)
{
	(void)now_ns;
	(void)arg;
	n_pumped++;
	return 10 * NS_PER_MS;
}

/* Begins to count from 0. errand_set_pump(NULL, NULL) ends it. */
static inline void start_pumping(void)
{
	n_pumped = 0;
	errand_set_pump(count_pumping, NULL);
}
