/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launcher and sidecar say to each other over a SOCK_SEQPACKET unix
 * socket: one message is "VERB ARGS", text without a final NUL, at most
 * LAUNCH_MESSAGE_MAX bytes. Both ends ignore verbs they do not know, so that
 * either may be the newer one.
 *
 * launcher -> sidecar
 *   cgroup VERSION
 *	before hello, where it can be told: the descriptor that comes along is
 *	O_PATH of the container's memory cgroup (1 or 2), as it was at the
 *	launcher's start.
 *   hello VERSION FDS NAME LAUNCHER_PID COMMAND_PID START_NS
 *	once per connection, and nothing but cgroup before it. FDS says which descriptors came along
 *	(SCM_RIGHTS), one letter each, in order: r O_PATH of the container's /,
 *	t its termination log, p a pidfd of the launcher. PIDs are those of the
 *	container's PID namespace; START_NS is CLOCK_BOOTTIME in nanoseconds.
 *   exit WAIT_STATUS END_NS
 *	the command ended; WAIT_STATUS as waitpid(2) gave it.
 *   unstarted ERRNO THERE COMMAND
 *	before exit, if the command was never executed: ERRNO is what execve(2) gave
 *	for COMMAND, which is the rest of the message, any bytes, cut after
 *	LAUNCH_COMMAND_MAX. THERE is 1 when a file of that name exists all the same: ENOENT then
 *	speaks of the interpreter or the loader that it names.
 *   core PID TID SIGNAL COMM
 *	a process dumped core, and the kernel is done with it: the descriptor
 *	that comes along is the file, open for reading. What its name told;
 *	0, and "-" for COMM, where it did not. After each hello those come too that
 *	lay there already, so the sidecar may see one again. Before exit, when
 *	the command itself dumped.
 *   ran ID PID
 *   finished ID WAIT_STATUS TIMED_OUT
 *   refused ID ERRNO
 *	what became of an order to run: it was started; it ended, TIMED_OUT (0
 *	or 1) by us; it was not started.
 *   ended PID WAIT_STATUS END_NS
 *	a process that was to be watched has ended. WAIT_STATUS as waitpid(2)
 *	gives it, "-" where it could not be read. Before exit; after hello, when it
 *	ended while no sidecar was connected.
 *   asked SIGNAL SENDER AT_NS
 *	SIGTERM, SIGINT or SIGQUIT asked the container to stop, and was forwarded to the
 *	command. SENDER is a PID of the container's PID namespace; 0: the signal came from
 *	outside, as those of the container runtime do. AT_NS is CLOCK_BOOTTIME. Again after
 *	each hello, and again when one from outside follows one from inside.
 *   unwatched PID ERRNO
 *	that process is not watched: ESRCH it has ended, or another one has its
 *	PID now; EBUSY too many are watched; ENOSYS the kernel has no pidfds.
 *
 * sidecar -> launcher, which obeys nobody else (connection_open)
 *   say TEXT	print TEXT on the container's stderr
 *   kill	end every process of the container (an OOM ends the group)
 *   run ID SECONDS MAXBYTES COMMAND
 *	run COMMAND by /bin/sh -c in the container. Its output goes to the one
 *	descriptor that comes along, the writing end of the sidecar's pipe: so
 *	the sidecar never reads from something that the container made. Killed
 *	after SECONDS, with its process group; a file that it writes may have
 *	MAXBYTES (0: any size). At most LAUNCH_HOOKS_MAX at a time. After the
 *	command's end the container waits for it.
 *   remove DEV INO MTIME
 *	of a core that was handed over nothing more is wanted. Its file is removed
 *	if it is there because of us: the soft core limit was 0 without --cores.
 *   watch PID START
 *	tell when that process of the container ends, and how. START is the time
 *	of its start as /proc/PID/stat has it (field 22, in clock ticks). At most
 *	LAUNCH_WATCHED_MAX at a time.
 *   hold N	after the command ended, keep the container N more seconds, also when
 *	the sidecar is gone, until SIGTERM or afterglow-launch --release
 *   done	nothing more is wanted: exit
 */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_PROTOCOL_H
#define AFTERGLOW_SIDECAR_LAUNCH_PROTOCOL_H

#define LAUNCH_PROTOCOL_VERSION 1
#define LAUNCH_MESSAGE_MAX 4096
#define LAUNCH_FDS_MAX 3
#define LAUNCH_NAME_MAX 63 /* a container's name is a DNS label */
#define LAUNCH_COMMAND_MAX 200 /* bytes */
#define LAUNCH_HOOKS_MAX 4
#define LAUNCH_WATCHED_MAX 32
#define LAUNCH_HOOK_SECONDS_MAX 3600

#define LAUNCH_FD_ROOT 'r'
#define LAUNCH_FD_TERMINATION_LOG 't'
#define LAUNCH_FD_PIDFD 'p'

#endif
