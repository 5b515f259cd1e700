// SPDX-License-Identifier: GPL-2.0
// Appended to arch/um/kernel/time.c.
#ifndef CONFIG_UML_TIME_TRAVEL_SUPPORT
/*
 * The host's clock. The weak sched_clock() counts jiffies of 10 ms, and so would the kernel log's
 * and tracefs's times.
 */
notrace unsigned long long sched_clock(void)
{
	static long long start;
	long long now = os_nsecs();

	if (!start)
		start = now;
	return now - start;
}
#endif
