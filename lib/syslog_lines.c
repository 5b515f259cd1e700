/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which lines of a node's syslog concern a pod. */
#include "lib/syslog_lines.h"

#include <ctype.h>
#include <string.h>

#include "lib/kernel_text.h"
#include "lib/macros.h"

#define ID_LEN 64
#define UID_LEN 36

/*
 * Accepts lines such as "Nov 22 15:00:01 node kubelet[812]: ..." and
 * "2026-11-22T15:00:01.123456+00:00 node kernel: ...".
 */
bool syslog_line_is_of_node(const char *line, size_t len)
{
	static const char *const programs[] = { "kernel",  "kubelet", "containerd", "crio",
						"dockerd", "systemd", "k3s",	    "rke2" };
	const char *colon = memmem(line, len, ": ", 2), *end = colon, *tag;

	if (!colon)
		return false;
	if (end > line && end[-1] == ']')
		while (end > line && *end != '[')
			end--;
	for (tag = end; tag > line && tag[-1] != ' '; tag--)
		;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if ((size_t)(end - tag) == strlen(programs[i]) &&
		    memcmp(tag, programs[i], strlen(programs[i])) == 0)
			return true;
	return false;
}

/* Finds the name as a whole word: "ray-1" is not found in "ray-12" or "my-ray-1". */
static bool has_name(const char *line, size_t len, const char *name)
{
	const char *p = line, *end = line + len;
	size_t n = strlen(name);

	while (n && (p = memmem(p, (size_t)(end - p), name, n))) {
		bool begins = p == line || !(isalnum((unsigned char)p[-1]) || strchr("-._", p[-1]));
		bool ends = p + n == end || !(isalnum((unsigned char)p[n]) ||
					      (strchr("-.", p[n]) && p + n + 1 < end &&
					       isalnum((unsigned char)p[n + 1])));

		if (begins && ends)
			return true;
		p++;
	}
	return false;
}

static bool has_uid(const char *line, size_t len, const char *uid)
{
	char slice[UID_LEN + 1] = "";

	if (strlen(uid) > UID_LEN || !*uid)
		return false;
	for (size_t i = 0; uid[i]; i++)
		slice[i] = uid[i] == '-' ? '_' : uid[i];
	return memmem(line, len, uid, strlen(uid)) || memmem(line, len, slice, strlen(slice));
}

/* Returns the container ID, 64 hexadecimal digits, in the path of the cgroup. */
static const char *id_of(const char *cgroup)
{
	for (const char *p = cgroup; *p;
	     p += strspn(p, "0123456789abcdef") ? strspn(p, "0123456789abcdef") : 1)
		if (strspn(p, "0123456789abcdef") == ID_LEN)
			return p;
	return NULL;
}

/*
 * Returns the part of the line that says whom it is about. The line of an OOM kill also has the
 * container of the process that asked for memory (cpuset=). That may be another pod's, which may
 * not read the victim's name. If the line is cut, its end is the path of the cgroup that met its
 * limit.
 */
static struct span find_subject(const char *line, size_t len)
{
	static const char oom_kill[] = "oom-kill:constraint=", limit[] = ",oom_memcg=";
	const char *at = memmem(line, len, oom_kill, strlen(oom_kill)), *end = line + len;
	struct kernel_oom oom;

	if (!at)
		return (struct span){ line, len };
	if (kernel_oom_parse(at, (size_t)(end - at), &oom))
		return oom.victim;
	at = memmem(at, (size_t)(end - at), ",oom_memcg=/", strlen(limit) + 1);
	return at ? (struct span){ at, (size_t)(end - at) } : (struct span){ end, 0 };
}

/*
 * Returns whether the line has the path of a cgroup that leads into another pod. Behind that pod's
 * cgroup its containers may have chosen the names.
 */
static bool leads_elsewhere(struct span subject, const char *pod_uid)
{
	return kernel_path_pod(subject.at, subject.len).len > 0 &&
	       !kernel_path_in_pod(subject.at, subject.len, pod_uid);
}

bool syslog_line_is_of(const char *line, size_t len, const struct syslog_subject *s)
{
	struct span subject = find_subject(line, len);
	const char *id = id_of(s->cgroup);

	if (!syslog_line_is_of_node(line, len) || leads_elsewhere(subject, s->pod_uid))
		return false;
	return has_uid(subject.at, subject.len, s->pod_uid) ||
	       (s->pod && has_name(subject.at, subject.len, s->pod)) ||
	       (id && memmem(subject.at, subject.len, id, ID_LEN));
}

void syslog_lines_of(const char *text, size_t len, const struct syslog_subject *subject, size_t max,
		     struct strbuf *out)
{
	const char *end = text + len;
	size_t before = out->len;

	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t n = newline ? (size_t)(newline - line) : (size_t)(end - line);

		if (syslog_line_is_of(line, n, subject)) {
			strbuf_add(out, line, n);
			strbuf_addc(out, '\n');
		}
		line += n + 1;
	}
	if (out->len - before > max && before == 0) {
		const char *cut = memchr(out->data + out->len - max, '\n', max);

		strbuf_consume(out, cut ? (size_t)(cut - out->data) + 1 : out->len - max);
	}
}
