/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the counters of one memory cgroup. */
#include "sidecar/sample/memcg_node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/sample/rootfd.h"

#define COUNTER_TEXT_MAX 512 /* memory.events has about a hundred bytes */

static const char *const v1_files[MEMCG_NODE_FILES] = { "memory.oom_control",
							"memory.usage_in_bytes",
							"memory.limit_in_bytes",
							"memory.max_usage_in_bytes" };
static const char *const v2_files[MEMCG_NODE_FILES] = { "memory.events", "memory.current",
							"memory.max", "memory.peak" };

static void memcg_node_parse(struct memcg_node *node, size_t file, const char *text)
{
	int64_t *const numbers[MEMCG_NODE_FILES] = { NULL, &node->usage, &node->limit,
						     &node->peak };

	if (file == MEMCG_NODE_KILLS) {
		node->kills = memcg_parse_key(text, "oom_kill");
		node->ooms = memcg_parse_key(text, "oom");
	} else
		*numbers[file] = memcg_parse_value(text);
}

bool memcg_node_read(struct memcg_node *node)
{
	node->usage_before = node->usage;
	for (size_t i = 0; i < MEMCG_NODE_FILES; i++) {
		char text[COUNTER_TEXT_MAX];
		ssize_t n = node->fds[i] < 0 ? 0 : pread(node->fds[i], text, sizeof(text) - 1, 0);

		if (n < 0 && errno == ENODEV)
			return false;
		if (n <= 0)
			continue;
		text[n] = '\0';
		memcg_node_parse(node, i, text);
	}
	return true;
}

void memcg_node_close(struct memcg_node *node)
{
	for (size_t i = 0; i < MEMCG_NODE_FILES; i++)
		closep(&node->fds[i]);
}

bool memcg_node_open(struct memcg_node *node, int root_fd, int version, const char *path)
{
	const char *const *files = version == 1 ? v1_files : v2_files;

	*node = (struct memcg_node){
		.kills = -1, .ooms = -1, .usage = -1, .limit = -1, .peak = -1, .usage_before = -1
	};
	snprintf(node->path, sizeof(node->path), "%s", path);
	for (size_t i = 0; i < MEMCG_NODE_FILES; i++) {
		char file[sizeof(node->path) + 64];

		snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		node->fds[i] = rootfd_open_no_fuse(root_fd, file, O_RDONLY, NULL);
	}
	if (node->fds[MEMCG_NODE_KILLS] >= 0 && memcg_node_read(node))
		return true;
	memcg_node_close(node);
	return false;
}
