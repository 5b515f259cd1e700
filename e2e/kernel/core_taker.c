/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_taker SOCKET MODE: listens for the node agent as a sidecar does (lib/node_protocol.h), in a
 * pod that may be hostile. Static, as root. MODE:
 *
 *	silent	never answers
 *	chatty	answers each second, with a word that nobody knows
 *	slow	takes each core, and reads nothing of it
 *	honest	takes each core, reads it, and prints a line
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Returns the descriptor that came with the message; -1: none. */
static int message_receive(int link, char text[static 256])
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { .iov_base = text, .iov_len = 255 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(link, &message, 0);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int fd = -1;

	if (len <= 0)
		_exit(0);
	text[len] = '\0';
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void link_serve(int link, const char *mode)
{
	char text[256], core[65536];
	int fd;

	do
		message_receive(link, text);
	while (strncmp(text, "offer", strlen("offer")) != 0);
	while (strcmp(mode, "chatty") == 0 &&
	       send(link, "patience", strlen("patience"), MSG_NOSIGNAL) > 0)
		usleep(900000);
	if (strcmp(mode, "silent") == 0)
		pause();
	send(link, "take", strlen("take"), MSG_NOSIGNAL);
	fd = message_receive(link, text);
	if (strcmp(mode, "slow") == 0)
		pause();
	while (read(fd, core, sizeof(core)) > 0)
		;
	if (fd >= 0)
		(void)!write(STDOUT_FILENO, "core\n", strlen("core\n"));
}

int main(int argc, char **argv)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (argc != 3)
		return 2;
	signal(SIGCHLD, SIG_IGN);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1]);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 128) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (;;) {
		int link = accept(listener, NULL, NULL);

		if (link >= 0 && fork() == 0) {
			link_serve(link, argv[2]);
			_exit(0);
		}
		close(link);
	}
}
