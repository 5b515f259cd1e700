/* SPDX-License-Identifier: Apache-2.0 */
/* Parses records of the kernel log, and finds the process, pod or device that each is about. */
#include "node/kernel_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kernel_text.h"
#include "lib/macros.h"

#define TEXT_MAX 1024 /* the kernel's own limit for a line */
#define CGROUP_MAX 600

static pid_t pid_at(const char *at)
{
	char *end;
	long pid = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;

	return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/*
 * Parses "Memory cgroup out of memory: Killed process 12 (name) ..." and "oom_reaper: reaped
 * process 12 (name), ...".
 */
static bool is_kill(const char *text, struct kernel_line *l)
{
	static const char *const before[] = { "Killed process ", "Kill process ",
					      "oom_reaper: reaped process " };
	static const char *const starts[] = { "Killed process ", "Memory cgroup out of memory",
					      "Out of memory", "oom_reaper: " };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (strncmp(text, starts[i], strlen(starts[i])) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(before); j++) {
			const char *at = strstr(text, before[j]);

			if (!at)
				continue;
			l->kind = KERNEL_LINE_PROCESS;
			l->pid = pid_at(at + strlen(before[j]));
			l->ends_oom = j == 0;
			return true;
		}
	}
	return false;
}

static bool is_crash(const char *text, struct kernel_line *l)
{
	struct span name;

	l->pid = kernel_crash_parse(text, strlen(text), &name);
	if (l->pid)
		l->kind = KERNEL_LINE_PROCESS;
	return l->pid != 0;
}

/* Finds the pod in the path of a cgroup, as in a line of /proc/PID/cgroup. */
static struct pod_of_process pod_of_path_in(const char *path, size_t len)
{
	struct pod_of_process pod = { 0 };
	char line[CGROUP_MAX];

	snprintf(line, sizeof(line), "0::%.*s\n", (int)len, path);
	if (pod_of_cgroups(line, &pod, NULL) < 0)
		memset(&pod, 0, sizeof(pod));
	return pod;
}

static bool is_constraint(const char *text, struct kernel_line *l)
{
	struct kernel_oom oom;

	if (!kernel_oom_parse(text, strlen(text), &oom))
		return false;
	l->kind = KERNEL_LINE_OOM_CONSTRAINT;
	l->pid = (pid_t)oom.pid;
	l->victim = pod_of_path_in(oom.victim.at, oom.victim.len);
	struct pod_of_process limit = pod_of_path_in(oom.limit.at, oom.limit.len);
	l->within = l->victim.pod_uid[0] && strcmp(limit.pod_uid, l->victim.pod_uid) == 0;
	return true;
}

static bool is_group(const char *text, struct kernel_line *l)
{
	struct span path;

	if (!kernel_oom_group_parse(text, strlen(text), &path))
		return false;
	l->kind = KERNEL_LINE_OOM_GROUP;
	l->victim = pod_of_path_in(path.at, path.len);
	return true;
}

/*
 * "Memory cgroup stats for /a:", and before Linux 5.0 "Task in /a/b killed as a result of limit of
 * /a". An old kernel writes the former for each cgroup below the one that met its limit.
 */
static bool is_cgroup(const char *text, struct kernel_line *l)
{
	static const char stats[] = "Memory cgroup stats for ", task[] = "Task in ";
	const char *path = NULL;

	if (strncmp(text, stats, strlen(stats)) == 0)
		path = text + strlen(stats);
	else if (strncmp(text, task, strlen(task)) == 0 &&
		 strstr(text, " killed as a result of limit of "))
		path = text + strlen(task);
	if (!path)
		return false;
	l->kind = KERNEL_LINE_OOM_CGROUP;
	l->victim = pod_of_path_in(path, strcspn(path, ": "));
	return true;
}

/* "[  123]  1000   123 ...": the thread, the user, the process. */
static bool is_row(const char *text, struct kernel_line *l)
{
	const char *p = text + 1 + strspn(text + 1, " ");
	pid_t task = text[0] == '[' ? pid_at(p) : 0;

	if (text[0] != '[' || (*p != 'p' && !task))
		return false;
	l->kind = KERNEL_LINE_OOM_ROW;
	l->task = task;
	if (!task)
		return true;
	p += strcspn(p, "]");
	p += *p == ']';
	p += strspn(p, " ");
	p += strcspn(p, " ");
	p += strspn(p, " ");
	l->pid = pid_at(p) ? pid_at(p) : task;
	return true;
}

/* "CPU: 1 PID: 12 Comm: x ...", since Linux 6.11 "CPU: 1 UID: 0 PID: 12 Comm: x ..." */
static bool is_invoker(const char *text, struct kernel_line *l)
{
	const char *pid = strncmp(text, "CPU: ", 5) == 0 ? strstr(text, " PID: ") : NULL,
		   *name = strstr(text, " Comm: ");

	if (!pid || !name || name < pid)
		return false;
	l->kind = KERNEL_LINE_OOM_INVOKER;
	l->pid = pid_at(pid + strlen(" PID: "));
	return true;
}

/*
 * Parses "anon 4096", a line of memory.stat. A kernel before 6.7 writes all of them as one record,
 * which may be cut at its end, and /dev/kmsg writes its newlines as "\x0a".
 */
static bool is_statistics(const char *text)
{
	size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789"), number;

	if (word == 0 || text[word] != ' ')
		return false;
	text += word + 1;
	number = strspn(text, "0123456789");
	return number > 0 && (!text[number] || strncmp(text + number, "\\x0a", 4) == 0);
}

/*
 * Parses the lines of a report about memory. All other lines may be anything that another processor
 * wrote at the same time, with the names of other pods' processes in it.
 */
static bool kernel_line_is_memory(const char *text, struct kernel_line *l)
{
	static const char *const starts[] = {
		"memory: usage ",
		"memory+swap: usage ",
		"swap: usage ",
		"kmem: usage ",
		"Tasks state (memory values in pages):",
		"Mem-Info:",
		"active_anon:",
		"Node ",
		"DMA free:",
		"DMA: ",
		"DMA32 free:",
		"DMA32: ",
		"Normal free:",
		"Normal: ",
		"HighMem free:",
		"HighMem: ",
		"Movable free:",
		"Movable: ",
		"lowmem_reserve[]: ",
		"hugepages_total=",
		"Swap cache stats: ",
		"Free swap ",
		"Total swap ",
	};
	size_t digits = strspn(text, "0123456789");
	bool found = is_statistics(text) ||
		     (digits && (strncmp(text + digits, " pages ", 7) == 0 ||
				 strcmp(text + digits, " total pagecache pages") == 0));

	for (size_t i = 0; i < ARRAY_SIZE(starts) && !found; i++)
		found = strncmp(text, starts[i], strlen(starts[i])) == 0;
	if (found)
		l->kind = KERNEL_LINE_OOM_MEMORY;
	return found;
}

/* The name ends before the first such text, which is too long to be part of a name. */
static bool is_begin(const char *text, struct kernel_line *l)
{
	const char *end = strstr(text, " invoked oom-killer: ");

	if (!end || !kernel_name_fits(text, (size_t)(end - text)))
		return false;
	l->kind = KERNEL_LINE_OOM_BEGIN;
	l->name_len = (size_t)(end - text);
	return true;
}

static const char *kernel_line_find_last(const char *text, const char *part)
{
	const char *found = NULL;

	for (const char *p = text; (p = strstr(p, part)); p++)
		found = p;
	return found;
}

/*
 * "NVRM: Xid (...): 79, pid=12, name=x, ..." and "amdgpu ...: in process x pid 12 thread y pid 13".
 * In the second one the number of the thread counts, because it ends the line. The names before it
 * may hold anything.
 */
static bool kernel_line_is_gpu(const char *text, struct kernel_line *l)
{
	const char *pid = strstr(text, ", pid="), *thread = kernel_line_find_last(text, " pid ");

	if (strncmp(text, "NVRM: ", 6) != 0 && strncmp(text, "amdgpu ", 7) != 0 &&
	    strncmp(text, "nvidia-", 7) != 0)
		return false;
	if (pid)
		l->pid = pid_at(pid + strlen(", pid=") + (pid[strlen(", pid=")] == '\''));
	else if (thread)
		l->pid = pid_at(thread + strlen(" pid "));
	l->kind = l->pid || thread ? KERNEL_LINE_PROCESS : KERNEL_LINE_GPU;
	return true;
}

/*
 * "EXT4-fs error (device sda1): f:1: inode #2: comm NAME: what is wrong": the process that met the
 * error may be any on the node. A path of a file may follow ("path NAME: "), which is left out with
 * the rest.
 */
static void find_name(const char *text, struct kernel_line *l)
{
	static const char comm[] = ": comm ", path[] = ": path ";
	const char *name = strstr(text, comm), *end = NULL;

	if (!name)
		return;
	name += strlen(comm);
	for (const char *p = name;
	     (p = strstr(p, ": ")) && kernel_name_fits(name, (size_t)(p - name)); p++)
		end = p;
	if (!end || strstr(name, path))
		end = name + strlen(name);
	l->name_at = (size_t)(name - text);
	l->name_len = (size_t)(end - name);
}

static bool is_device(const char *text, struct kernel_line *l)
{
	static const struct {
		/* The beginning of the line, and the text before the device */
		const char *start, *before;
		/* clang-format off */
	} forms[] = {
		{ "EXT4-fs error ", "(device " }, { "EXT4-fs warning ", "(device " }, { "EXT4-fs (", "(" }, { "XFS (", "(" },
		{ "BTRFS error ", "(device " }, { "BTRFS critical ", "(device " }, { "BTRFS warning ", "(device " },
		{ "I/O error, dev ", "dev " }, { "blk_update_request: ", ", dev " }, { "Buffer I/O error on dev ", "on dev " },
		{ "critical ", " error, dev " }, { "nfs: server ", "server " },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *at = strncmp(text, forms[i].start, strlen(forms[i].start)) == 0 ?
					 strstr(text, forms[i].before) :
					 NULL;
		size_t len = at ? strcspn(at + strlen(forms[i].before), " ,):") : 0;

		if (!len || len + 2 > sizeof(l->device))
			continue;
		l->kind = KERNEL_LINE_DEVICE;
		find_name(text, l);
		snprintf(l->device, sizeof(l->device), "%.*s%s", (int)len,
			 at + strlen(forms[i].before), strncmp(text, "nfs:", 4) == 0 ? ":" : "");
		return true;
	}
	return false;
}

static void understand(const char *text, struct kernel_line *l)
{
	/* clang-format off */
	static bool (*const kinds[])(const char *, struct kernel_line *) = {
		/*
		 * A crash and a report come first: they begin with a process's name, which may be
		 * that of any other kind.
		 */
		is_crash, is_begin,   is_constraint, is_kill,	is_group,  is_cgroup,
		is_row,	  is_invoker, kernel_line_is_gpu,	     is_device, kernel_line_is_memory,
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i](text, l))
			return;
}

bool kernel_line_parse(const char *data, size_t len, struct kernel_line *ret_line)
{
	const char *text = memchr(data, ';', len), *end;
	char head[80], copy[TEXT_MAX];
	struct kernel_line l = { 0 };
	unsigned int priority;
	uint64_t seq;
	char flag;

	if (!text || (size_t)(text - data) >= sizeof(head))
		return false;
	memcpy(head, data, (size_t)(text - data));
	head[text - data] = '\0';
	if (sscanf(head, "%9u,%19" SCNu64 ",%18" SCNd64 ",%c", &priority, &seq, &l.time_us,
		   &flag) != 4 ||
	    priority >> 3 != 0 || l.time_us < 0 || flag != '-')
		return false;
	l.priority = (int)priority;
	l.text = text + 1;
	end = memchr(l.text, '\n', len - (size_t)(l.text - data));
	l.len = end ? (size_t)(end - l.text) : len - (size_t)(l.text - data);
	l.len = MIN(l.len, sizeof(copy) - 1);
	memcpy(copy, l.text, l.len);
	copy[l.len] = '\0';
	if (strlen(copy) == l.len)
		understand(copy, &l);
	*ret_line = l;
	return true;
}

void kernel_line_hide_name(struct kernel_line *l, char buffer[static KERNEL_TEXT_MAX])
{
	static const char hidden[] = "(name left out)";
	const char *rest = l->text + l->name_at + l->name_len;

	if (!l->name_len && l->kind != KERNEL_LINE_OOM_BEGIN)
		return;
	snprintf(buffer, KERNEL_TEXT_MAX, "%.*s%s%.*s", (int)l->name_at, l->text, hidden,
		 (int)(l->text + l->len - rest), rest);
	l->text = buffer;
	l->len = strlen(buffer);
	l->name_len = strlen(hidden);
}

/* Returns whether the line has " - TYPE SOURCE" with this source. */
static bool is_from(const char *source, const char *device, bool server)
{
	size_t len = strlen(device);

	if (server)
		return strncmp(source, device, len) == 0;
	return strncmp(source, "/dev/", 5) == 0 && strncmp(source + 5, device, len) == 0 &&
	       source[5 + len] == ' ';
}

bool kernel_line_is_mounted(const char *mountinfo, const char *device)
{
	bool server = device[0] && device[strlen(device) - 1] == ':';

	for (const char *p = mountinfo; (p = strstr(p, " - "));) {
		p += 3;
		p += strcspn(p, " \n");
		if (*p == ' ' && is_from(p + 1, device, server))
			return true;
	}
	return false;
}
