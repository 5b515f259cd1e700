/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a container as a table: the next state and actions for each state and event. Pure;
 * container.c carries it out.
 *
 *   connected --hello--> running --exit--> ended --unwound--> judging --judged--> reporting --hooks
 *   done--> keeping --kept--> reported --cores kept--> over
 *       |                   |                 ^
 *       |                hang-up         launcher gone
 *       |                   v                 |
 *       +----> lost <-- disconnected ---------+
 */
#pragma once

enum container_state {
	CONTAINER_CONNECTED, /* a process has connected, and has sent nothing */
	CONTAINER_RUNNING, /* its launcher has sent hello: it is sampled */
	/* its launcher has closed the connection, but is alive according to its pidfd */
	CONTAINER_DISCONNECTED,
	CONTAINER_LOST, /* not known to have ended, and no longer watched */
	/* From here on it has ended: */
	CONTAINER_ENDED, /* its report waits for Ray's last log lines, a backtrace, or a sender */
	/* its verdict waits for the kernel log, and for files of the container */
	CONTAINER_JUDGING,
	CONTAINER_REPORTING, /* its report waits for the hooks at death */
	CONTAINER_KEEPING, /* its report is being written */
	CONTAINER_REPORTED, /* reports of its processes are being written, and cores */
	CONTAINER_OVER, /* finished: no report or core will follow */
	CONTAINER_STATE_COUNT
};

enum container_event {
	CONTAINER_HELLO,
	CONTAINER_UNSEEABLE, /* after hello: there is no memory to watch it */
	CONTAINER_EXIT, /* its launcher has reported how its command ended */
	CONTAINER_HANGUP, /* end of the connection */
	/* after that: its pidfd shows that it has ended, or it sent none */
	CONTAINER_LAUNCHER_GONE,
	CONTAINER_TIMEOUT, /* hello did not come in time, or the launcher did not come back */
	CONTAINER_UNWOUND, /* what the report waits for is there, or late, or will not come */
	CONTAINER_JUDGED, /* its verdict is known */
	CONTAINER_HOOKS_DONE, /* the hooks have ended, or were lost, or there are none */
	CONTAINER_KEPT, /* the report is written and published, or there is none */
	CONTAINER_CORES_KEPT, /* the cores are kept, or there are none */
	CONTAINER_EVENT_COUNT
};

/* The actions of a step; they are carried out in this order. */
enum container_action {
	CONTAINER_STOP_READING = 1 << 0,
	CONTAINER_ATTACH = 1 << 1, /* take the descriptors, begin to sample */
	CONTAINER_AWAIT_LAUNCHER = 1 << 2, /* read the counters, stop sampling, watch the pidfd */
	CONTAINER_END = 1 << 3, /* note the end, and wait for a backtrace if there is a core */
	CONTAINER_JUDGE = 1 << 4, /* begin the verdict */
	CONTAINER_REPORT = 1 << 5, /* termination message; begin the hooks */
	CONTAINER_KEEP = 1 << 6, /* begin the bundle, after which the report is published */
	CONTAINER_CONCLUDE = 1 << 7, /* the reports of its processes, cores */
	CONTAINER_DISMISS = 1 << 8, /* the launcher need not wait */
	CONTAINER_LEAVE =
		1 << 9, /* call done() from the event loop; the owner then frees the container */
};

struct container_step {
	enum container_state next;
	unsigned int actions; /* of enum container_action */
};

/* An event that has no meaning in a state changes nothing and needs no action. */
struct container_step container_step(enum container_state state, enum container_event event);
