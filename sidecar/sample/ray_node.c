/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from raylet's command line what the Ray node in a container was given. */
#include "sidecar/sample/ray_node.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "lib/macros.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/proc_stat.h"
#include "sidecar/sample/rootfd.h"

#define COMMAND_LINE_MAX (32 * 1024) /* Ray 2.60's command line has 4 KiB */
#define QUANTITY_MAX 1e15
#define SESSION_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/*
 * Parses a decimal number of at most QUANTITY_MAX and multiplies it by scale; -1 if there is none.
 */
static int64_t parse_quantity(const char *text, double scale)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	double value = strtod(text, &end);
	if ((*end && *end != ',') || !(value <= QUANTITY_MAX))
		return -1;
	return (int64_t)(value * scale);
}

/* Finds the value after name in "NAME,1.0,NAME,2.0"; -1 if it is not there. */
static int64_t find_resource(const char *list, const char *name, double scale)
{
	size_t len = strlen(name);

	while (*list) {
		const char *value = strchr(list, ',');

		if (!value)
			return -1;
		if ((size_t)(value - list) == len && memcmp(list, name, len) == 0)
			return parse_quantity(value + 1, scale);
		list = strchrnul(value + 1, ',');
		list += *list == ',';
	}
	return -1;
}

static const char *value_of(const char *argument, const char *option)
{
	size_t len = strlen(option);

	return strncmp(argument, option, len) == 0 ? argument + len : NULL;
}

static void take_path(const char *value, char path[static RAY_NODE_PATH_MAX])
{
	if (value[0] != '/' || strlen(value) >= RAY_NODE_PATH_MAX)
		path[0] = '\0';
	else
		snprintf(path, RAY_NODE_PATH_MAX, "%s", value);
}

/* Takes a word of these characters. */
static void take_word(const char *value, const char *characters, char *word, size_t size)
{
	size_t len = strspn(value, characters);

	if (len > 0 && len < size && !value[len])
		memcpy(word, value, len + 1);
}

void ray_node_parse(const char *cmdline, size_t len, struct ray_node *n)
{
	char temp_dir[RAY_NODE_PATH_MAX] = "";

	for (size_t at = 0; at < len; at += strnlen(cmdline + at, len - at) + 1) {
		_cleanup_free_ char *argument = strndup(cmdline + at, len - at);
		const char *value;

		if (!argument)
			return;
		if (strcmp(argument, "--head") == 0)
			n->head = true;
		else if ((value = value_of(argument, "--node_id=")))
			take_word(value, "0123456789abcdef", n->id, sizeof(n->id));
		else if ((value = value_of(argument, "--session-name=")))
			take_word(value, SESSION_CHARACTERS, n->session, sizeof(n->session));
		else if ((value = value_of(argument, "--fallback_directory=")))
			take_path(value, n->spill_dir);
		else if ((value = value_of(argument, "--temp_dir=")))
			take_path(value, temp_dir);
		else if ((value = value_of(argument, "--object_store_memory=")))
			n->object_store = parse_quantity(value, 1);
		else if ((value = value_of(argument, "--static_resource_list="))) {
			/* A node without a resource does not list it. */
			n->cpus = MAX(find_resource(value, "CPU", 1000), 0);
			n->memory = find_resource(value, "memory", 1);
		}
	}
	/* Ray uses this value when it spills to S3 or the like. */
	if (temp_dir[0] && strcmp(n->spill_dir, temp_dir) == 0)
		n->spill_dir[0] = '\0';
}

int ray_node_open_shm(int root_fd)
{
	_cleanup_close_ int fd = rootfd_open(root_fd, "dev/shm", O_PATH | O_DIRECTORY, NULL);
	struct statfs st;

	/* Only tmpfs is memory. */
	return fd >= 0 && fstatfs(fd, &st) == 0 && st.f_type == TMPFS_MAGIC ? TAKE_FD(fd) : -1;
}

void ray_node_read_shm(struct ray_node *n, int shm_fd)
{
	struct statfs st;

	if (shm_fd < 0 || fstatfs(shm_fd, &st) < 0)
		return;
	/* The size 0 stands for a tmpfs without a limit. */
	n->shm_size = st.f_blocks ? (int64_t)st.f_blocks * st.f_bsize : -1;
	n->shm_used = (int64_t)(st.f_blocks - st.f_bfree) * st.f_bsize;
}

/*
 * The raylet of ray.init() is a child of the program that called it. That of `ray start` is a child
 * of `ray start`, and later of whoever gets its orphans. A program with an argument "start" may be
 * a `ray start` of another name.
 */
static bool ray_node_is_of_driver(int root_fd, pid_t raylet)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(COMMAND_LINE_MAX);
	char stat[PROC_STAT_MAX], path[40], name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX],
		label[PROCESS_NAME_MAX];
	pid_t parent;

	if (!proc_stat_read(root_fd, raylet, stat) || !proc_parse_stat(stat, &parent, name))
		return false;
	snprintf(path, sizeof(path), "proc/%d/cmdline", (int)parent);
	return rootfd_read(root_fd, path, &text, NULL) >= 0 &&
	       proc_parse_cmdline(strbuf_str(&text), text.len, name, command) &&
	       component_of(name, command, label) == COMPONENT_DRIVER &&
	       !memmem(strbuf_str(&text), text.len, "\0start", sizeof("\0start"));
}

bool ray_node_read_raylet(struct ray_node *n, int root_fd, pid_t raylet)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(COMMAND_LINE_MAX);
	char path[40];

	if (raylet <= 0 || raylet == n->raylet)
		return false;
	snprintf(path, sizeof(path), "proc/%d/cmdline", (int)raylet);
	/*
	 * A command line that is cut at the ceiling is still useful. If it is empty, the process
	 * has just been forked, and we look again later.
	 */
	if ((rootfd_read(root_fd, path, &text, NULL) < 0 && text.len == 0) || text.len == 0)
		return false;
	ray_node_parse(strbuf_str(&text), text.len, n);
	n->of_driver = ray_node_is_of_driver(root_fd, raylet);
	n->raylet = raylet;
	return true;
}
