/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pod and container to which a process belongs.
 *
 * These are the paths, with UID for the pod's UID and ID for the container's ID:
 *
 *	cgroupfs  /kubepods[/burstable|/besteffort]/podUID/ID           (containerd, docker)
 *	          /kubepods[/burstable|/besteffort]/podUID/crio-ID      (CRI-O)
 *	systemd
 *	/kubepods.slice/[kubepods-burstable.slice/]kubepods-burstable-podU_I_D.slice/cri-containerd-ID.scope
 *	                                                                         also crio-ID.scope
 *	                                                                         and
 *	                                                                         docker-ID.scope
 *
 * An option of the kubelet puts all of them below another directory. A reader in a cgroup namespace
 * of its own sees paths that begin with "/..", without the names above the common ancestor.
 */
#include "node/pod_of_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/span.h"

#define CGROUP_TEXT_MAX (64 * 1024)
#define UID_MIN 32

static bool name_is(struct span n, const char *text)
{
	return n.len == strlen(text) && memcmp(n.at, text, n.len) == 0;
}

static bool take_suffix(struct span *n, const char *suffix)
{
	size_t len = strlen(suffix);

	if (n->len < len || memcmp(n->at + n->len - len, suffix, len) != 0)
		return false;
	n->len -= len;
	return true;
}

static bool pod_of_process_is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* In the name of a slice systemd reads '-' as a separator of levels, so the kubelet writes '_'. */
static bool take_uid(struct span n, char dash, char ret_uid[static POD_UID_MAX + 1])
{
	if (n.len < UID_MIN || n.len > POD_UID_MAX)
		return false;
	for (size_t i = 0; i < n.len; i++)
		if (!pod_of_process_is_hex(n.at[i]) && n.at[i] != dash)
			return false;
	for (size_t i = 0; i < n.len; i++)
		ret_uid[i] = n.at[i] == dash ? '-' : n.at[i];
	ret_uid[n.len] = '\0';
	return true;
}

/*
 * Accepts "kubepods-burstable-podU_I_D.slice". The kubelet's own root may put more names in front.
 */
static bool is_pod_slice(struct span n, char ret_uid[static POD_UID_MAX + 1])
{
	static const char *const middles[] = { "kubepods-pod", "kubepods-burstable-pod",
					       "kubepods-besteffort-pod" };

	if (!take_suffix(&n, ".slice"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(middles); i++) {
		const char *found = memmem(n.at, n.len, middles[i], strlen(middles[i]));
		struct span uid;

		if (!found || (found > n.at && found[-1] != '-'))
			continue;
		uid.at = found + strlen(middles[i]);
		uid.len = n.len - (size_t)(uid.at - n.at);
		if (take_uid(uid, '_', ret_uid))
			return true;
	}
	return false;
}

/*
 * Accepts "podUID" right below the directory of a quality of service, or below that of all pods. A
 * parent may be "..".
 */
static bool is_pod_directory(struct span n, struct span parent, struct span grandparent,
			     char ret_uid[static POD_UID_MAX + 1])
{
	bool class_of_pods = name_is(parent, "burstable") || name_is(parent, "besteffort");
	struct span above = class_of_pods ? grandparent : parent;

	if (!name_is(above, "kubepods") && !name_is(above, ".."))
		return false;
	return span_take(&n, "pod") && take_uid(n, '-', ret_uid);
}

/*
 * Takes the container ID from "cri-containerd-ID.scope", "crio-ID" or "ID". For other names, such
 * as CRI-O's conmon ("crio-conmon-ID.scope"), it is "".
 */
static void take_container(struct span n, char ret_id[static CONTAINER_ID_MAX + 1])
{
	static const char *const runtimes[] = { "cri-containerd-", "crio-", "docker-" };

	take_suffix(&n, ".scope");
	for (size_t i = 0; i < ARRAY_SIZE(runtimes) && !span_take(&n, runtimes[i]); i++)
		;
	ret_id[0] = '\0';
	if (n.len != CONTAINER_ID_MAX)
		return;
	for (size_t i = 0; i < n.len; i++)
		if (!pod_of_process_is_hex(n.at[i]))
			return;
	memcpy(ret_id, n.at, n.len);
	ret_id[n.len] = '\0';
}

static struct span next_name(const char **at, const char *end)
{
	while (*at < end && **at == '/')
		(*at)++;
	struct span n = (struct span){ .at = *at };
	while (*at < end && **at != '/')
		(*at)++;
	n.len = (size_t)(*at - n.at);
	return n;
}

static bool pod_of_path(const char *at, const char *end, struct pod_of_process *ret_pod)
{
	struct span n, parent = { "", 0 }, grandparent = { "", 0 };

	while ((n = next_name(&at, end)).len > 0) {
		if (is_pod_slice(n, ret_pod->pod_uid) ||
		    is_pod_directory(n, parent, grandparent, ret_pod->pod_uid)) {
			take_container(next_name(&at, end), ret_pod->container_id);
			return true;
		}
		grandparent = parent;
		parent = n;
	}
	return false;
}

/*
 * Returns the path in "ID:CONTROLLERS:PATH". The controllers contain no colon, except in
 * "name=x:y", which is not used in practice.
 */
static const char *path_of_line(const char *line, const char *end)
{
	const char *colon = memchr(line, ':', (size_t)(end - line));

	colon = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;
	return colon && colon + 1 < end && colon[1] == '/' ? colon + 1 : NULL;
}

/*
 * Returns false if the two contradict each other. A hierarchy in which the process was moved above
 * the containers does not contradict the others.
 */
static bool pod_of_process_agree(struct pod_of_process *pod, const struct pod_of_process *other)
{
	if (!pod->pod_uid[0]) {
		*pod = *other;
		return true;
	}
	if (strcmp(pod->pod_uid, other->pod_uid) != 0)
		return false;
	if (!pod->container_id[0])
		memcpy(pod->container_id, other->container_id, sizeof(pod->container_id));
	return !other->container_id[0] || strcmp(pod->container_id, other->container_id) == 0;
}

int pod_of_cgroups(const char *text, struct pod_of_process *ret_pod, struct err *err)
{
	struct pod_of_process pod = { 0 };

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n'), *path = path_of_line(line, end);
		struct pod_of_process found = { 0 };

		if (path && pod_of_path(path, end, &found) && !pod_of_process_agree(&pod, &found))
			return err_set(
				err, EPROTO,
				"the process is in the cgroups of several pods or containers");
		line = *end ? end + 1 : end;
	}
	if (!pod.pod_uid[0])
		return err_set(err, ENOENT, "the process is in no pod");
	*ret_pod = pod;
	return 0;
}

int pod_of_process(const char *proc, pid_t pid, struct pod_of_process *ret_pod, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CGROUP_TEXT_MAX);
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, (int)pid);
	int rc = file_read(AT_FDCWD, path, &text, err);
	return rc < 0 ? rc : pod_of_cgroups(strbuf_str(&text), ret_pod, err);
}
