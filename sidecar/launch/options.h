/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's command line. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define PROGRAM "afterglow-launch: "
#define OOM_SCORE_KEPT INT_MIN
#define RELEASE_MARK 0x41476c6f /* the value that --release sends along with its SIGTERM */

/*
 * Leaves anonymous and file-backed shared memory out of cores: dumping the object store could
 * itself use up the limit.
 */
#define COREDUMP_FILTER "0x31"

/*
 * The most bytes of a core. A process cannot die before its core is written: its sockets stay open,
 * so Ray takes it for alive. And the core takes space on the container's disk.
 */
#define CORES_MAX_DEFAULT 4294967296
#define CORES_MAX_DEFAULT_TEXT "4294967296, 4 GiB"

struct options {
	const char *name;
	const char *socket_path;
	/*
	 * A socket that is connected to the sidecar and that no other process can reach; 0: connect
	 * to socket_path.
	 */
	int socket_fd;
	const char *termination_log; /* terminationMessagePath of the container */
	const char *wait_tcp;
	const char *prefix; /* words before COMMAND, NULL: none */
	int wait_sidecar_s; /* --wait-sidecar; 0: do not wait */
	int wait_after_success_s; /* --wait-after-success; 0: do not wait */
	int oom_score_adj; /* of the command; OOM_SCORE_KEPT: the launcher's own */
	/* the descriptor from which this program was started; 0: it was started by its path */
	int self_fd;
	bool cores;
	bool cores_in_memory;
	int64_t cores_max; /* bytes */
	bool release, environment, help, version; /* in place of a command */
	char **argv;
};

/*
 * Parses the command line. Exits after --help, --version, --environment and --release; exits with 2
 * after a message if the command line is wrong.
 */
void options_parse(char **argv, struct options *ret_options);
