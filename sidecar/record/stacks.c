/* SPDX-License-Identifier: Apache-2.0 */
/* Answers who asks for the stacks of processes that live. */
#include "sidecar/record/stacks.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/loop/child.h"
#include "lib/loop/timer.h"
#include "lib/printable.h"
#include "sidecar/launch/dump.h"
#include "sidecar/record/container.h"
#include "sidecar/record/gate.h"
#include "sidecar/socket/listener.h"

#define DUMP_WITHIN_S 3 /* for the launcher's answer */
#define UNWIND_WITHIN_NS (30 * NS_PER_SEC)
#define ERRORS_MAX 512
#define STATUS_MAX 65536 /* bytes of /proc/PID/status, which lists all groups */
#define DUMP_FDS 2
#define QUEUE_MAX 4
#define CLIENT_SECONDS 60 /* for a client that does not ask, or does not read */

struct target {
	struct container *container; /* NULL: it is over */
	pid_t pid;
	int64_t memory;
	char name[PROCESS_NAME_MAX];
};

struct stacks {
	struct event_base *base;
	struct stacks_callbacks callbacks;
	struct listener *listener;
	struct event *overdue;
	struct bufferevent *client; /* NULL: nobody asks */
	struct container *subject; /* of stacks_take; NULL: none */
	int64_t until_ns; /* with subject */
	bool drivers; /* with subject: only they are looked at */
	char wanted[STACKS_ARGUMENT_MAX]; /* "": all */
	struct target targets[STACKS_PROCESSES_MAX];
	size_t n_targets, next, left_out; /* next: the number of targets that were begun */
	int id; /* of the order that was sent last */
	bool ordered; /* its answer has not come */
	int dump_fd; /* where it goes, a struct dump */
	struct child *unwinder;
	int64_t free_ns; /* when the next question is answered */
};

static void answer_next(struct stacks *s);

/* --- The end --- */

static void dump_close(struct stacks *s)
{
	closep(&s->dump_fd);
	s->dump_fd = -1; /* the next file may get this number */
}

static void client_close(struct stacks *s)
{
	if (s->client)
		bufferevent_free(s->client);
	s->client = NULL;
	s->subject = NULL;
	s->drivers = false;
	s->ordered = false;
	dump_close(s);
	s->n_targets = s->next = 0;
	child_cancel(TAKE_PTR(s->unwinder));
	event_del(s->overdue);
	listener_start(s->listener, NULL);
}

static void on_client_event(struct bufferevent *, short, void *arg)
{
	client_close(arg);
}

/* Called when all that was written has left. */
static void on_drained(struct bufferevent *client, void *arg)
{
	struct stacks *s = arg;

	if (s->next > s->n_targets && evbuffer_get_length(bufferevent_get_output(client)) == 0)
		client_close(s);
}

/* What is of a subject goes to it at once: it may end at any moment. */
static void answer_add(struct stacks *s, const char *text, size_t len)
{
	if (s->subject)
		s->callbacks.taken(s->subject, text, len, false);
	else
		evbuffer_add(bufferevent_get_output(s->client), text, len);
}

static void answer_end(struct stacks *s)
{
	char text[64];

	if (s->left_out) {
		snprintf(text, sizeof(text), "note %zu more processes are not looked at\n",
			 s->left_out);
		answer_add(s, text, strlen(text));
	}
	if (!s->drivers) /* its looks have their own spacing, and keep nobody waiting */
		s->free_ns = now_boottime_ns() + STACKS_SPACING_NS;
	s->next = s->n_targets + 1;
	answer_add(s, "end\n", 4);
	if (s->subject) {
		s->callbacks.taken(s->subject, NULL, 0, !s->left_out);
		client_close(s);
	}
}

static void answer_failed(struct stacks *s, const char *why)
{
	char line[ERRORS_MAX + 16], text[ERRORS_MAX];

	copy_printable(text, sizeof(text), why, strcspn(why, "\n"));
	snprintf(line, sizeof(line), "failed %s\n", text);
	answer_add(s, line, strlen(line));
	answer_next(s);
}

/* --- A process --- */

static void stacks_on_unwound(const struct child_result *r, void *arg)
{
	struct stacks *s = arg;

	s->unwinder = NULL;
	dump_close(s);
	answer_add(s, r->output, r->output_len);
	if (r->exited_well)
		answer_next(s);
	else
		answer_failed(s, r->timed_out ? "it took too long to read its memory" :
				 r->errors[0] ? r->errors :
						"its memory could not be read");
}

static int unwinder_start(struct stacks *s, const int fds[static DUMP_FDS], int root_fd,
			  struct err *err)
{
	static const char *const argv[] = {
		"afterglow-unwind", "--dump-fd", "3",	      "--memory-fd", "4",
		"--maps-fd",	    "5",	 "--root-fd", "6",	     NULL
	};
	static const char *const alone[] = {
		"afterglow-unwind", "--dump-fd", "3",	      "--memory-fd", "4",
		"--maps-fd",	    "5",	 "--no-root", NULL
	};
	char path[PATH_MAX];
	/* clang-format off */
	struct child_work work = {
		.path = path, .argv = root_fd < 0 ? alone : argv, .fds = { s->dump_fd, fds[0], fds[1], root_fd }, .n_fds = root_fd < 0 ? 3 : 4,
		.output_max = STACKS_TEXT_MAX, .errors_max = ERRORS_MAX, .no_new_privs = true, .within_ns = UNWIND_WITHIN_NS,
	};
	/* clang-format on */

	if (child_beside(argv[0], path, err) < 0)
		return -err->code;
	return child_start(s->base, &work, stacks_on_unwound, s, &s->unwinder, err);
}

static const char *dump_error_text(int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
		return "the launcher may not trace it: another process traces it, it has changed its user, it made itself undumpable, or the runtime "
		       "forbids ptrace";
	case ESRCH:
		return "it has ended";
	case ETIMEDOUT:
		return "the kernel did not let the launcher at it in time: it hangs in execve";
	default:
		return strerror(error);
	}
}

void stacks_dumped(struct stacks *s, const struct container *c, const struct launch_message *m,
		   const int *fds, size_t n_fds)
{
	const struct target *t = s && s->ordered ? &s->targets[s->next - 1] : NULL;
	struct err err = { 0 };

	if (!t || t->container != c || m->hook_id != s->id)
		return;
	s->ordered = false;
	event_del(s->overdue);
	if (m->hook_errno || n_fds != DUMP_FDS) {
		answer_failed(s, dump_error_text(m->hook_errno ? m->hook_errno : EPROTO));
		return;
	}
	for (size_t i = 0; i < n_fds && !err.code; i++)
		gate_admit(fds[i], GATE_CORE, &err);
	if (err.code || unwinder_start(s, fds, container_observer(c)->root_fd, &err) < 0)
		answer_failed(s, err_text(&err));
}

static void dump_on_overdue(evutil_socket_t, short, void *arg)
{
	struct stacks *s = arg;

	s->ordered = false;
	answer_failed(s, "the launcher did not answer: it is older than this sidecar, or hangs");
}

/*
 * Makes the file of a dump anew: a launcher that keeps an earlier one must not see this one. To
 * allocate is to touch: the pages are charged to our cgroup.
 */
static int dump_make(struct stacks *s, struct err *err)
{
	dump_close(s);
	s->dump_fd = memfd_create("afterglow-dump", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->dump_fd < 0 || fallocate(s->dump_fd, 0, 0, sizeof(struct dump)) < 0 ||
	    fcntl(s->dump_fd, F_ADD_SEALS, DUMP_SEALS) < 0)
		return err_set(err, errno, "memory for the copies of stacks");
	return 0;
}

/* Bytes that are left below the limit that holds for our own cgroup; -1: there is none. */
static int64_t own_room(void)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct memcg own = { 0 };
	struct cgroup_watch watch;
	struct memory memory;
	int64_t room = -1;

	if (root_fd < 0 || cgroup_watch_open(&watch, &own, root_fd, getpid(), NULL, NULL) < 0)
		return -1;
	if (cgroup_watch_read(&watch, &own, now_boottime_ns(), false, &memory) == 0)
		room = cgroup_watch_headroom(&watch, &memory);
	memcg_close(&own);
	cgroup_watch_close(&watch);
	return room;
}

/* Beside a command that shares a limit with us, our own memory may be what the command lacks. */
static bool room_suffices(const struct stacks *s, struct err *err)
{
	int64_t room = s->callbacks.shares_memory ? own_room() : -1;
	char left[SIZE_TEXT_MAX], needed[SIZE_TEXT_MAX];

	if (room < 0 || room >= STACKS_ROOM_MIN)
		return true;
	err_set(err, ENOMEM,
		"%s are left below the memory limit that the command shares with afterglow, and reading stacks may take %s",
		size_format((uint64_t)room, left), size_format(STACKS_ROOM_MIN, needed));
	return false;
}

static void answer_next(struct stacks *s)
{
	char line[PROCESS_NAME_MAX + 64];
	struct err err = { 0 };

	if (s->next >= s->n_targets || (s->subject && now_boottime_ns() >= s->until_ns)) {
		s->left_out += s->n_targets - s->next;
		answer_end(s);
		return;
	}
	if (s->client &&
	    evbuffer_get_length(bufferevent_get_output(s->client)) > STACKS_UNREAD_MAX) {
		client_close(s);
		return;
	}
	const struct target *t = &s->targets[s->next++];
	snprintf(line, sizeof(line), "target %d %s\n", (int)t->pid, t->name);
	answer_add(s, line, strlen(line));
	s->id = (s->id + 1) & INT_MAX;
	if (!room_suffices(s, &err) || dump_make(s, &err) < 0) {
		answer_failed(s, err_text(&err));
		return;
	}
	s->ordered = t->container && container_dump(t->container, s->id, t->pid, s->dump_fd) == 0;
	if (s->ordered)
		event_add(s->overdue, &(struct timeval){ .tv_sec = DUMP_WITHIN_S });
	else
		answer_failed(s, "its launcher cannot be reached");
}

/* --- The question --- */

static bool target_is_wanted(const struct stacks *s, const struct container *c,
			     const struct process *p)
{
	char label[PROCESS_NAME_MAX];

	if (s->drivers && component_of(p->name, p->command, label) != COMPONENT_DRIVER)
		return false;
	if (s->subject)
		return c == s->subject;
	/* A number is a PID, whatever the names have in them. */
	if (s->wanted[strspn(s->wanted, "0123456789")] == '\0')
		return !s->wanted[0] || strtol(s->wanted, NULL, 10) == p->pid;
	return strstr(p->name, s->wanted);
}

static int target_compare(const void *one, const void *other)
{
	const struct target *a = one, *b = other;

	return a->memory != b->memory ? (a->memory < b->memory ? 1 : -1) : a->pid - b->pid;
}

/* Of a subject the largest processes are looked at, because there may be no time for the others. */
static void targets_choose(struct stacks *s)
{
	qsort(s->targets, s->n_targets, sizeof(*s->targets), target_compare);
	if (s->n_targets <= STACKS_TAKEN_PROCESSES_MAX)
		return;
	s->left_out += s->n_targets - STACKS_TAKEN_PROCESSES_MAX;
	s->n_targets = STACKS_TAKEN_PROCESSES_MAX;
}

static void target_add(struct container *c, const struct process *p, void *arg)
{
	struct stacks *s = arg;

	if (!target_is_wanted(s, c, p))
		return;
	if (s->subject && s->n_targets == STACKS_PROCESSES_MAX)
		targets_choose(s);
	if (s->n_targets == STACKS_PROCESSES_MAX) {
		s->left_out++;
		return;
	}
	struct target *t = &s->targets[s->n_targets++];
	*t = (struct target){ .container = c, .pid = p->pid, .memory = process_own(p) };
	copy_printable(t->name, sizeof(t->name), p->name, strlen(p->name));
}

static void answer_begin(struct stacks *s, const char *line)
{
	size_t len = strcspn(line, "\n");

	s->wanted[0] = '\0';
	if (strncmp(line, "stack ", 6) == 0)
		snprintf(s->wanted, sizeof(s->wanted), "%.*s", (int)(len - 6), line + 6);
	s->n_targets = s->next = s->left_out = 0;
	s->callbacks.each(target_add, s, s->callbacks.arg);
	if (s->subject)
		targets_choose(s);
	answer_next(s);
}

bool stacks_take(struct stacks *s, struct container *c, bool drivers)
{
	if (!s || s->client || s->subject)
		return false;
	listener_stop(s->listener);
	s->subject = c;
	s->drivers = drivers;
	s->until_ns = now_boottime_ns() + STACKS_TAKEN_WITHIN_NS;
	answer_begin(s, "");
	return true;
}

static void on_question(struct bufferevent *client, void *arg)
{
	struct stacks *s = arg;
	_cleanup_free_ char *line =
		evbuffer_readln(bufferevent_get_input(client), NULL, EVBUFFER_EOL_LF);

	if (!line && evbuffer_get_length(bufferevent_get_input(client)) < STACKS_ARGUMENT_MAX)
		return;
	bufferevent_disable(client, EV_READ);
	if (line)
		answer_begin(s, line);
	else
		client_close(s);
}

/*
 * A process in a namespace below ours has a number for each: where ours is the node's, each
 * container's has.
 */
static bool is_in_our_pid_namespace(pid_t pid)
{
	_cleanup_strbuf_ struct strbuf status = STRBUF_INIT(STATUS_MAX);
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (pid <= 0 || file_read(AT_FDCWD, path, &status, NULL) < 0)
		return false;
	const char *numbers = strstr(strbuf_str(&status), "\nNSpid:\t");
	return !numbers || numbers[strcspn(numbers + 8, "\t\n") + 8] == '\n';
}

/*
 * Whether the peer is our user, or root, in our own PID namespace: not a process of another
 * container.
 */
static bool peer_may_ask(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0) && is_in_our_pid_namespace(peer.pid);
}

static void stacks_on_connection(int fd, void *arg)
{
	const struct timeval patience = { .tv_sec = CLIENT_SECONDS };
	struct stacks *s = arg;

	if (peer_may_ask(fd) && now_boottime_ns() >= s->free_ns)
		s->client = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!s->client) {
		close(fd);
		return;
	}
	/* One at a time; the others wait in the kernel's queue. */
	listener_stop(s->listener);
	bufferevent_setcb(s->client, on_question, on_drained, on_client_event, s);
	bufferevent_set_timeouts(s->client, &patience, &patience);
	bufferevent_enable(s->client, EV_READ | EV_WRITE);
}

/* --- Life --- */

/* Returns the socket. */
static int stacks_listen(struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			   STACKS_SOCKET_NAME "/%u/%d/%lld", geteuid(), (int)getpid(),
			   (long long)now_boottime_ns());
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, QUEUE_MAX) < 0)
		return err_set(err, errno, "nobody can ask for stacks: socket %s",
			       address.sun_path + 1);
	return TAKE_FD(fd);
}

int stacks_new(struct event_base *base, const struct stacks_callbacks *callbacks,
	       struct stacks **ret_stacks, struct err *err)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int fd;

	if (!s)
		return err_set(err, ENOMEM, "stacks");
	*s = (struct stacks){ .base = base, .callbacks = *callbacks, .dump_fd = -1 };
	s->overdue = evtimer_new(base, dump_on_overdue, s);
	if (!s->overdue)
		err_set(err, ENOMEM, "stacks");
	else if ((fd = stacks_listen(err)) >= 0 &&
		 listener_adopt(base, fd, "neighbours that may ask for stacks",
				stacks_on_connection, s, &s->listener, err) == 0)
		listener_start(s->listener, err);
	if (err->code) {
		stacks_free(s);
		return -err->code;
	}
	*ret_stacks = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	if (s->client || s->subject)
		client_close(s);
	listener_free(s->listener);
	event_drop(s->overdue);
	free(s);
}

void stacks_forget(struct stacks *s, const struct container *c)
{
	if (s && s->subject == c)
		client_close(s);
	bool answers = s && s->ordered && s->targets[s->next - 1].container == c;
	for (size_t i = 0; s && i < s->n_targets; i++)
		if (s->targets[i].container == c)
			s->targets[i].container = NULL;
	if (!answers)
		return;
	s->ordered = false;
	event_del(s->overdue);
	answer_failed(s, dump_error_text(ESRCH));
}
