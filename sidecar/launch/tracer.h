/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a dump of a process that lives (dump.h): registers and stacks of its threads.
 *
 * Theory of operation. Only an ancestor may trace a process where Yama restricts that, and every
 * process of the container is below us. So we seize and interrupt its threads, copy what is
 * bounded, and let them go, within TRACER_STOP_MS. The kernel detaches all of them if we die in
 * between. A thread that the kernel cannot stop (state D) stays seized, and stops when it leaves
 * the kernel; then reap() sees that, and tracer_let_go lets it go on at once. So no thread is left
 * stopped.
 *
 * What could hold us is never done: memory is read only while every thread is stopped, because then
 * none of them holds a lock of the kernel that reading needs; no page is read that the kernel would
 * have to ask a file server for; and a timer ends the wait for a process that hangs in execve.
 */
#pragma once

#include <sys/types.h>

#define TRACER_STOP_MS 19 /* from the first interrupt on; to let all threads go takes some tenths */
#define TRACER_FDS 2

/*
 * Writes the dump to dump_fd, a memfd of the size of struct dump with DUMP_SEALS. ret_fds:
 * /proc/PID/mem and /proc/PID/maps, which the caller closes. Returns -errno: EPERM, another process
 * traces it, or it changed its user; ESRCH, it is gone; ETIMEDOUT, the kernel did not let us in;
 * EINVAL, dump_fd is not such a file, or the process is the launcher.
 */
int tracer_dump(pid_t pid, int dump_fd, int ret_fds[static TRACER_FDS]);

/*
 * To be called when waitid has found a thread that is stopped for us, with its si_status. It goes
 * on with the signal that it was about to get, or stays stopped if its whole process is.
 */
void tracer_let_go(pid_t tid, int stop_status);
