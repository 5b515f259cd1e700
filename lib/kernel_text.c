/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lines of the kernel log that hold names which a container chooses. */
#include "lib/kernel_text.h"

#include <string.h>

#include "lib/macros.h"

#define COMM_MAX 15 /* TASK_COMM_LEN without the NUL */
#define UID_MIN 32 /* a static pod's UID has no dashes */
#define UID_MAX 36

bool kernel_name_fits(const char *name, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++)
		i += len - i >= 4 && memcmp(name + i, "\\x", 2) == 0 ? 4 : 1;
	return n <= COMM_MAX;
}

/* --- OOM kills -------------------------------------------------------------------------------- */

static bool cgroup_is_below(struct span path, struct span cgroup)
{
	return path.len >= cgroup.len && memcmp(path.at, cgroup.at, cgroup.len) == 0 &&
	       (path.len == cgroup.len || path.at[cgroup.len] == '/' || cgroup.len == 1);
}

/* Splits "PATH SEPARATOR PATH" at the first place that makes one path go on from the other. */
static bool paths_split(struct span s, const char *separator, bool victim_first,
			struct kernel_oom *oom)
{
	struct span second = s;

	if (!span_begins(s, "/"))
		return false;
	while ((second = span_after(second, separator)).at) {
		struct span first = span_before(s, second.at - strlen(separator));

		oom->victim = victim_first ? first : second;
		oom->limit = victim_first ? second : first;
		if (oom->limit.len > 0 && cgroup_is_below(oom->victim, oom->limit))
			return true;
	}
	return false;
}

/*
 * Takes ",task=NAME,pid=D,uid=D" from the end. The kernel writes the PID last, so a name that
 * holds another one comes before it. Of several ",task=" the first one counts that leaves a name
 * which fits: what it takes from the name of the victim's cgroup the victim's container has
 * chosen.
 */
static bool victim_take(struct span *s, struct kernel_oom *oom)
{
	static const char task[] = ",task=", pid[] = ",pid=";
	const char *at = span_find_last(*s, pid);

	if (!at)
		return false;
	struct span rest = span_from(*s, at + strlen(pid));
	if (!span_number(&rest, INT32_MAX, &oom->pid) || !span_take(&rest, ",uid=") ||
	    !span_number(&rest, UINT32_MAX, &oom->uid) || rest.len > 0)
		return false;
	rest = *s = span_before(*s, at);
	while ((rest = span_after(rest, task)).at) {
		if (!kernel_name_fits(rest.at, rest.len))
			continue;
		oom->name = rest;
		*s = span_before(*s, rest.at - strlen(task));
		return true;
	}
	return false;
}

bool kernel_oom_parse(const char *text, size_t len, struct kernel_oom *ret_oom)
{
	static const char global[] = ",global_oom,task_memcg=", limit[] = ",oom_memcg=";
	struct kernel_oom oom = { .limit = { text, 0 }, .name = { text, 0 }, .pid = -1, .uid = -1 };
	struct span s = { text, len };

	if (!span_take(&s, "oom-kill:constraint=") || !victim_take(&s, &oom))
		return false;
	/* Before them stands the name of a cpuset, which has no slash. */
	const char *everybody = span_find(s, ",global_oom,task_memcg=/").at;
	const char *one = span_find(s, ",oom_memcg=/").at;
	oom.global = everybody && (!one || everybody < one);
	if (oom.global)
		oom.victim = span_from(s, everybody + strlen(global));
	else if (!one ||
		 !paths_split(span_from(s, one + strlen(limit)), ",task_memcg=", false, &oom))
		return false;
	*ret_oom = oom;
	return true;
}

bool kernel_oom_limit_parse(const char *text, size_t len, struct kernel_oom *ret_oom)
{
	struct kernel_oom oom = { .limit = { text, 0 }, .name = { text, 0 }, .pid = -1, .uid = -1 };
	struct span s = { text, len };

	if (!span_take(&s, "Task in ") ||
	    !paths_split(s, " killed as a result of limit of ", true, &oom))
		return false;
	*ret_oom = oom;
	return true;
}

bool kernel_oom_group_parse(const char *text, size_t len, struct span *ret_path)
{
	static const char end[] = " are going to be killed due to memory.oom.group set";
	struct span s = { text, len };

	if (!span_take(&s, "Tasks in ") || !span_begins(s, "/") || s.len < strlen(end) ||
	    memcmp(s.at + s.len - strlen(end), end, strlen(end)) != 0)
		return false;
	*ret_path = (struct span){ s.at, s.len - strlen(end) };
	return true;
}

/* --- Crashes ---------------------------------------------------------------------------------- */

/* Takes the number in "NAME[123", which ends where a marker begins. */
static int32_t pid_before(struct span s, struct span *ret_name)
{
	const char *p = s.at + s.len;
	int64_t pid = 0;

	while (p > s.at && p[-1] >= '0' && p[-1] <= '9')
		p--;
	struct span digits = span_from(s, p);
	if (p == s.at || p[-1] != '[' || !kernel_name_fits(s.at, (size_t)(p - 1 - s.at)) ||
	    !span_number(&digits, INT32_MAX, &pid))
		return 0;
	if (pid > 0)
		*ret_name = span_before(s, p - 1);
	return (int32_t)pid;
}

/*
 * The owner of the process chooses both the name and the file at the end of the line, and each may
 * look like the beginning of another process's line. So the last marker counts that the longest
 * possible name can reach: a marker in the name comes before the true one, and the file comes
 * later.
 */
static int32_t crash_find(struct span s, const char *const *markers, size_t n,
			  struct span *ret_name)
{
	struct span rest = s;
	int32_t pid = 0, found;

	for (const char *p; (p = span_find(rest, "]").at); rest = span_from(rest, p + 1))
		for (size_t i = 0; i < n; i++)
			if (span_begins(span_from(s, p), markers[i]) &&
			    (found = pid_before(span_before(s, p), ret_name)))
				pid = found;
	return pid;
}

int32_t kernel_crash_parse(const char *text, size_t len, struct span *ret_name)
{
	static const char *const faults[] = { "]: segfault at ", "]: unhandled ",
					      "]: undefined instruction", "]: bad frame in ",
					      "] bad frame in " };
	static const char *const traps[] = { "] trap ", "] general protection", "] divide error",
					     "] stack segment", "] bounds" };
	struct span s = { text, len };
	int32_t pid = crash_find(s, faults, ARRAY_SIZE(faults), ret_name);

	if (!pid && span_take(&s, "traps: "))
		pid = crash_find(s, traps, ARRAY_SIZE(traps), ret_name);
	return pid;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* Returns the length of the UID at the beginning of s, or 0. systemd's slices have '_' for '-'. */
static size_t uid_len(struct span s)
{
	size_t n = 0;

	while (n < s.len &&
	       ((s.at[n] >= '0' && s.at[n] <= '9') || (s.at[n] >= 'a' && s.at[n] <= 'f') ||
		s.at[n] == '-' || s.at[n] == '_'))
		n++;
	return n < UID_MIN || n > UID_MAX || (n < s.len && s.at[n] != '/' && s.at[n] != '.') ? 0 :
											       n;
}

static bool uid_is(const char *at, size_t len, const char *uid)
{
	if (strlen(uid) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (at[i] != uid[i] && !(at[i] == '_' && uid[i] == '-'))
			return false;
	return true;
}

struct span kernel_path_pod(const char *path, size_t len)
{
	static const char pod[] = "pod";
	struct span s = { path, len };

	while ((s = span_after(s, pod)).at) {
		const char *p = s.at - strlen(pod);

		if (p > path && (p[-1] == '/' || p[-1] == '-') && uid_len(s))
			return (struct span){ s.at, uid_len(s) };
	}
	return (struct span){ path, 0 };
}

const char *kernel_path_in_pod(const char *path, size_t len, const char *pod_uid)
{
	struct span uid = kernel_path_pod(path, len);
	const char *rest = uid.at + uid.len;

	if (!uid.len || !uid_is(uid.at, uid.len, pod_uid))
		return NULL;
	while (rest < path + len && *rest != '/')
		rest++;
	return rest;
}
