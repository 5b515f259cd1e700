/* SPDX-License-Identifier: Apache-2.0 */
/* Receives, parses and sends messages at the sidecar's end of the launcher's socket. */
#include "sidecar/socket/channel.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/fd_message.h"
#include "lib/printable.h"
#include "sidecar/socket/discard.h"

#define SENT_FDS_MAX 253 /* in one message: the kernel's SCM_MAX_FD */
#define ERRNO_MAX 4095 /* the kernel's MAX_ERRNO */

bool launch_name_valid(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_' && *p != '.')
			return false;
	return isalnum((unsigned char)*name) && strlen(name) <= LAUNCH_NAME_MAX;
}

static bool known_letters(const char *letters)
{
	static const char all[] = { LAUNCH_FD_ROOT, LAUNCH_FD_TERMINATION_LOG, LAUNCH_FD_PIDFD,
				    '\0' };

	return strspn(letters, all) == strlen(letters);
}

static int channel_parse_hello(const char *args, struct launch_message *m, struct err *err)
{
	char letters[8], name[LAUNCH_NAME_MAX + 2];
	long long started;
	int version, launcher, command, end = 0;

	if (sscanf(args, "%d %7s %64s %d %d %lld%n", &version, letters, name, &launcher, &command,
		   &started, &end) != 6 ||
	    args[end] != '\0')
		return err_set(err, EPROTO, "hello \"%.60s\" from a launcher", args);
	if (version != LAUNCH_PROTOCOL_VERSION)
		return err_set(err, EPROTO, "a launcher speaks version %d, this sidecar %d",
			       version, LAUNCH_PROTOCOL_VERSION);
	if (strcmp(letters, "-") == 0)
		letters[0] = '\0';
	if (strlen(letters) > LAUNCH_FDS_MAX || !known_letters(letters))
		return err_set(err, EPROTO, "descriptors \"%s\" from a launcher", letters);
	if (!launch_name_valid(name))
		return err_set(err, EPROTO, "a launcher's container name that is none");
	if (launcher <= 0 || command <= 0 || started <= 0)
		return err_set(err, EPROTO, "hello \"%.60s\" from a launcher", args);
	m->verb = LAUNCH_HELLO;
	snprintf(m->fd_letters, sizeof(m->fd_letters), "%s", letters);
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->launcher = launcher;
	m->command = command;
	m->started_ns = started;
	return 0;
}

/* --- The other messages. Each of these functions returns whether the arguments are right. --- */

static bool parse_cgroup(const char *args, struct launch_message *m)
{
	m->cgroup_version = args[0] - '0';
	return strcmp(args, "1") == 0 || strcmp(args, "2") == 0;
}

bool wait_status_is_end(int status)
{
	return status >= 0 && status <= 0xffff &&
	       (WIFEXITED(status) || (WIFSIGNALED(status) && WTERMSIG(status) < _NSIG));
}

static bool parse_exit(const char *args, struct launch_message *m)
{
	long long ended;
	int end = 0;

	if (sscanf(args, "%d %lld%n", &m->wait_status, &ended, &end) != 2)
		return false;
	m->ended_ns = ended;
	return args[end] == '\0' && wait_status_is_end(m->wait_status) && ended > 0;
}

static bool parse_unstarted(const char *args, struct launch_message *m)
{
	int error, there, end = 0;

	/* The command follows one blank. It is the original text, which may begin with blanks. */
	if (sscanf(args, "%d %d%n", &error, &there, &end) != 2 || args[end] != ' ')
		return false;
	m->unstarted.error = error;
	m->unstarted.there = there;
	copy_printable(m->unstarted.command, sizeof(m->unstarted.command), args + end + 1,
		       strlen(args + end + 1));
	return error > 0 && error <= ERRNO_MAX && there >= 0 && there <= 1;
}

static bool parse_core(const char *args, struct launch_message *m)
{
	char comm[64];
	int end = 0;

	if (sscanf(args, "%d %d %d %63s%n", &m->core_pid, &m->core_tid, &m->core_signal, comm,
		   &end) != 4)
		return false;
	for (char *p = comm; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			*p = '?';
	snprintf(m->core_comm, sizeof(m->core_comm), "%s", strcmp(comm, "-") == 0 ? "" : comm);
	return args[end] == '\0' && m->core_pid >= 0 && m->core_tid >= 0 && m->core_signal >= 0 &&
	       m->core_signal < _NSIG;
}

static bool parse_hook(const char *args, struct launch_message *m)
{
	bool finished = m->verb == LAUNCH_FINISHED;
	int value = 0, timed_out = 0, end = 0;
	bool whole =
		finished ? sscanf(args, "%d %d %d%n", &m->hook_id, &value, &timed_out, &end) == 3 :
			   sscanf(args, "%d %d%n", &m->hook_id, &value, &end) == 2;

	*(finished ? &m->wait_status : &m->hook_errno) = m->verb == LAUNCH_RAN ? 0 : value;
	m->hook_timed_out = timed_out;
	return whole && args[end] == '\0' && m->hook_id >= -1 && timed_out >= 0 && timed_out <= 1 &&
	       value >= 0 && (!finished || wait_status_is_end(value));
}

static bool parse_ended(const char *args, struct launch_message *m)
{
	char text[16], rest;
	long long ended;
	int end = 0;

	if (sscanf(args, "%d %15s %lld%n", &m->process, text, &ended, &end) != 3)
		return false;
	m->ended_ns = ended;
	m->status_known = strcmp(text, "-") != 0;
	return args[end] == '\0' && m->process > 0 && ended > 0 &&
	       (!m->status_known || (sscanf(text, "%d%c", &m->wait_status, &rest) == 1 &&
				     wait_status_is_end(m->wait_status)));
}

static bool parse_unwatched(const char *args, struct launch_message *m)
{
	int end = 0;

	return sscanf(args, "%d %d%n", &m->process, &m->hook_errno, &end) == 2 &&
	       args[end] == '\0' && m->process > 0 && m->hook_errno >= 0;
}

static bool parse_dumped(const char *args, struct launch_message *m)
{
	int end = 0;

	return sscanf(args, "%d %d%n", &m->hook_id, &m->hook_errno, &end) == 2 &&
	       args[end] == '\0' && m->hook_id >= 0 && m->hook_errno >= 0 &&
	       m->hook_errno <= ERRNO_MAX;
}

static bool parse_asked(const char *args, struct launch_message *m)
{
	int signo, sender, end = 0;
	long long at;

	if (sscanf(args, "%d %d %lld%n", &signo, &sender, &at, &end) != 3)
		return false;
	m->asked = (struct stop_request){ .signal = signo, .sender = sender, .at_ns = at };
	return args[end] == '\0' && sender >= 0 && at > 0 &&
	       (signo == SIGTERM || signo == SIGINT || signo == SIGQUIT);
}

static const struct {
	const char *name;
	enum launch_verb verb;
	bool (*parse)(const char *args, struct launch_message *m);
	/* clang-format off */
} verbs[] = {
	{ "cgroup", LAUNCH_CGROUP, parse_cgroup }, { "exit", LAUNCH_EXIT, parse_exit }, { "unstarted", LAUNCH_UNSTARTED, parse_unstarted },
	{ "core", LAUNCH_CORE, parse_core }, { "ran", LAUNCH_RAN, parse_hook }, { "finished", LAUNCH_FINISHED, parse_hook },
	{ "refused", LAUNCH_REFUSED, parse_hook }, { "ended", LAUNCH_ENDED, parse_ended }, { "unwatched", LAUNCH_UNWATCHED, parse_unwatched },
	{ "dumped", LAUNCH_DUMPED, parse_dumped }, { "asked", LAUNCH_ASKED, parse_asked },
};
/* clang-format on */

int launch_message_parse(const char *text, size_t len, struct launch_message *ret_message,
			 struct err *err)
{
	struct launch_message m = { .verb = LAUNCH_OTHER };
	char line[256];
	int r;

	/* The known messages are short; a NUL would hide what follows it. */
	len = len >= sizeof(line) || memchr(text, '\0', len) ? 0 : len;
	memcpy(line, text, len);
	line[len] = '\0';
	if (strncmp(line, "hello ", 6) == 0 && (r = channel_parse_hello(line + 6, &m, err)) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		size_t n = strlen(verbs[i].name);

		if (strncmp(line, verbs[i].name, n) != 0 || line[n] != ' ')
			continue;
		m.verb = verbs[i].verb;
		if (!verbs[i].parse(line + n + 1, &m))
			return err_set(err, EPROTO, "%s \"%.60s\" from a launcher", verbs[i].name,
				       line + n + 1);
	}
	*ret_message = m;
	return 0;
}

int launch_receive(int socket_fd, char text[static LAUNCH_MESSAGE_MAX], size_t *ret_len,
		   int fds[static LAUNCH_FDS_MAX], size_t *ret_n_fds, struct err *err)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(SENT_FDS_MAX * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = text, .iov_len = LAUNCH_MESSAGE_MAX };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		/*
		 * There is room for all descriptors. The kernel would close those without room
		 * before the call returns, and such a close may sleep.
		 */
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	size_t n = 0;

	/*
	 * A launcher that ends with an order of ours unread resets the connection. The kernel
	 * reports that once, before the messages that it has sent; its exit may be among them.
	 */
	if (len < 0 && errno == ECONNRESET)
		len = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return err_set(err, errno == EINTR ? EAGAIN : errno, "receive from a launcher");
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int),
			       taken = MIN(count, LAUNCH_FDS_MAX - n);
			int sent[SENT_FDS_MAX];

			memcpy(sent, CMSG_DATA(c), MIN(count, (size_t)SENT_FDS_MAX) * sizeof(int));
			memcpy(fds + n, sent, taken * sizeof(int));
			discard(sent + taken, MIN(count, (size_t)SENT_FDS_MAX) - taken);
			n += taken;
		}
	*ret_n_fds = n;
	*ret_len = (size_t)len;
	return len > 0 || n > 0;
}

int launch_send(int socket_fd, const char *verb, const char *text, struct err *err)
{
	char message[LAUNCH_MESSAGE_MAX];
	int len = snprintf(message, sizeof(message), "%s%s%s", verb, text ? " " : "",
			   text ? text : "");
	size_t n = MIN((size_t)len, sizeof(message) - 1);

	if (send(socket_fd, message, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return err_set(err, errno, "send to a launcher");
	return 0;
}

int launch_send_fd(int socket_fd, const char *verb, const char *text, int fd, struct err *err)
{
	char order[LAUNCH_MESSAGE_MAX];
	int len = snprintf(order, sizeof(order), "%s %s", verb, text);

	if (len < 0 || (size_t)len >= sizeof(order))
		return err_set(err, EMSGSIZE, "send to a launcher");
	if (fd_message_send(socket_fd, order, (size_t)len, &fd, 1, MSG_DONTWAIT) < 0)
		return err_set(err, errno, "send to a launcher");
	return 0;
}
