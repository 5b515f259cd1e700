/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between launcher and sidecar over a SOCK_SEQPACKET unix socket. A
 * message is "VERB ARGS", text without a final NUL, at most LAUNCH_MESSAGE_MAX
 * bytes. Both ends ignore verbs that they do not know, so either end may be newer
 * than the other.
 *
 * launcher -> sidecar
 *   cgroup VERSION
 *	before hello, if the cgroup is known: the descriptor of this message is an O_PATH
 *	of the container's memory cgroup (1 or 2), as it was at the launcher's start.
 *   hello VERSION FDS NAME LAUNCHER_PID COMMAND_PID START_NS
 *	once per connection, and nothing but cgroup before it. FDS has a letter for each descriptor
 *	of this message (SCM_RIGHTS), in order: r O_PATH of the container's /,
 *	t its termination log, p a pidfd of the launcher. PIDs are those of the
 *	container's PID namespace; START_NS is CLOCK_BOOTTIME in nanoseconds.
 *   exit WAIT_STATUS END_NS
 *	the command ended; WAIT_STATUS as waitpid(2) gave it.
 *   unstarted ERRNO THERE COMMAND
 *	before exit, if the command was never executed: ERRNO is the errno of execve(2)
 *	for COMMAND, which is the rest of the message, any bytes, cut after
 *	LAUNCH_COMMAND_MAX. THERE is 1 if a file of that name exists all the same: ENOENT then
 *	means the interpreter or the loader that the file names.
 *   core PID TID SIGNAL COMM
 *	a process dumped core, and the kernel has finished it: the descriptor of this
 *	message is the file, open for reading. The arguments come from its name;
 *	they are 0, and "-" for COMM, if the name does not have them. After each hello,
 *	cores that exist already are sent too, so the sidecar may get a core twice. If the
 *	command itself dumped, this comes before exit.
 *   ran ID PID
 *   finished ID WAIT_STATUS TIMED_OUT
 *   refused ID ERRNO
 *	the results of an order to run: the command was started; it ended, TIMED_OUT (0
 *	or 1) says whether the launcher ended it; it was not started.
 *   ended PID WAIT_STATUS END_NS
 *	a watched process has ended. WAIT_STATUS is as waitpid(2) gives it, "-" if it
 *	could not be read. Comes before exit; and after hello, if the process ended while
 *	no sidecar was connected.
 *   asked SIGNAL SENDER AT_NS
 *	SIGTERM, SIGINT or SIGQUIT asked the container to stop. The command got it if it
 *	would have got it as process 1 (forwarding.h); if not, only one from outside is told
 *	of. SENDER is a PID of the container's PID namespace; 0: the signal came from
 *	outside, as from the container runtime. AT_NS is CLOCK_BOOTTIME. Sent again after
 *	each hello, and when a signal from outside follows a signal from inside.
 *   dumped ID ERRNO
 *	the result of an order to dump. ERRNO 0: the dump is written, and the descriptors of this
 *	message are the process' /proc/PID/mem and /proc/PID/maps, open for reading.
 *   unwatched PID ERRNO
 *	that process is not watched. ESRCH: it has ended, or another process has its
 *	PID now; EBUSY: too many are watched; ENOSYS: the kernel has no pidfds.
 *
 * sidecar -> launcher, which obeys no other process (connection_open)
 *   say TEXT	print TEXT on the container's stderr
 *   kill	end every process of the container (an OOM ends the group)
 *   run ID SECONDS MAXBYTES COMMAND
 *	run COMMAND by /bin/sh -c in the container. Its output goes to the descriptor of
 *	this message, the writing end of the sidecar's pipe: so the sidecar never
 *	reads from a descriptor that the container made. COMMAND is killed after
 *	SECONDS, with its process group; a file that it writes may have MAXBYTES
 *	(0: any size). At most LAUNCH_HOOKS_MAX run at a time. After the end of the
 *	container's command, the container waits for them.
 *   remove DEV INO MTIME
 *	the sidecar needs nothing more of a core that was sent. Its file is removed
 *	if it was written only for us: without --cores the soft core limit was 0.
 *   watch PID START
 *	report when that process of the container ends, and how. START is the time
 *	of its start as /proc/PID/stat has it (field 22, in clock ticks). At most
 *	LAUNCH_WATCHED_MAX at a time.
 *   dump-into ID PID
 *	stop the threads of that process for a moment, and copy their registers and stacks
 *	(tracer.h) to the descriptor of this message, a memfd of the sidecar (dump.h). PID is
 *	below the launcher, in the container's PID namespace.
 *   hold N	after the command ended, keep the container N more seconds, also when
 *	the sidecar is gone, until SIGTERM or afterglow-launch --release
 *   stay PATH
 *	after the command ended: `afterglow-sidecar exec` ends, too, and another process of
 *	it listens at PATH. The launcher stays for that one until it is told "done".
 *   done	the sidecar needs nothing more: exit
 */
#pragma once

#define LAUNCH_PROTOCOL_VERSION 1
#define LAUNCH_MESSAGE_MAX 4096
#define LAUNCH_FDS_MAX 3
#define LAUNCH_NAME_MAX 63 /* a container's name is a DNS label */
#define LAUNCH_COMMAND_MAX 200 /* bytes */
#define LAUNCH_HOOKS_MAX 4
#define LAUNCH_WATCHED_MAX 160 /* 32 of Ray's own processes, and workers */
#define LAUNCH_HOOK_SECONDS_MAX 3600

#define LAUNCH_FD_ROOT 'r'
#define LAUNCH_FD_TERMINATION_LOG 't'
#define LAUNCH_FD_PIDFD 'p'
