/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the node agent's messages about signals and logs, and keeps the latest signals. */
#include "sidecar/node/node_signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/units.h"

#define LINE_MAX_BYTES 400
#define SYSLOG_LINE_MAX 2048
#define WATCHING_MAX_S 3600

static bool node_signals_take_line(const char *text, size_t len, char line[static LINE_MAX_BYTES])
{
	if (len >= LINE_MAX_BYTES || memchr(text, '\0', len))
		return false;
	memcpy(line, text, len);
	line[len] = '\0';
	return true;
}

static bool node_signals_is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == NODE_SIGNALS_ID_LEN &&
	       !text[NODE_SIGNALS_ID_LEN];
}

static bool parse_place(const char *word, const char *target_container,
			enum node_signal_place *ret_place)
{
	static const struct {
		const char *word;
		enum node_signal_place place;
	} places[] = {
		{ "unknown", NODE_SIGNAL_UNKNOWN },
		{ "node", NODE_SIGNAL_NODE },
		{ "pod", NODE_SIGNAL_POD },
		{ "other-pod", NODE_SIGNAL_OTHER_POD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strcmp(word, places[i].word) == 0) {
			*ret_place = places[i].place;
			return true;
		}
	*ret_place = strcmp(word, target_container) == 0 ? NODE_SIGNAL_SAME : NODE_SIGNAL_POD;
	return node_signals_is_id(word);
}

static bool parse_oom(const char *args, char id[static NODE_SIGNALS_ID_LEN + 1],
		      struct node_signal *s)
{
	int target, end = 0;

	if (sscanf(args, "%64[0-9a-f] %9d %18" SCNd64 "%n", id, &target, &s->at_ns, &end) != 3 ||
	    args[end] || target < 0)
		return false;
	s->oom = true;
	s->target = target;
	s->uid = -1;
	return true;
}

static bool parse_signal(const char *args, char id[static NODE_SIGNALS_ID_LEN + 1],
			 struct node_signal *s)
{
	int target, signal, sender, own, end = 0;
	char place[NODE_SIGNALS_ID_LEN + 1];

	if (sscanf(args, "%64[0-9a-f] %9d %9d %18" SCNd64 " %9d %9d %10" SCNd64 " %64s%n", id,
		   &target, &signal, &s->at_ns, &sender, &own, &s->uid, place, &end) != 8)
		return false;
	if (target < 0 || signal <= 0 || signal >= _NSIG || sender < 0 || own < 0 ||
	    args[end] != ' ' || !parse_place(place, id, &s->place))
		return false;
	s->target = target;
	s->signal = signal;
	s->sender = sender;
	s->sender_own = own;
	copy_printable(s->comm, sizeof(s->comm), args + end + 1, strlen(args + end + 1));
	return true;
}

bool node_signal_parse(const char *text, size_t len,
		       char ret_container_id[static NODE_SIGNALS_ID_LEN + 1],
		       struct node_signal *ret_signal)
{
	char line[LINE_MAX_BYTES], id[NODE_SIGNALS_ID_LEN + 1] = "";
	struct node_signal s = { 0 };
	bool parsed = false;

	if (!node_signals_take_line(text, len, line))
		return false;
	if (strncmp(line, "signal ", 7) == 0)
		parsed = parse_signal(line + 7, id, &s);
	else if (strncmp(line, "oom ", 4) == 0)
		parsed = parse_oom(line + 4, id, &s);
	if (!parsed || !node_signals_is_id(id) || s.at_ns <= 0)
		return false;
	memcpy(ret_container_id, id, sizeof(id));
	*ret_signal = s;
	return true;
}

bool node_watching_parse(const char *text, size_t len, int64_t *ret_ns)
{
	char line[LINE_MAX_BYTES];
	int seconds, end = 0;

	if (!node_signals_take_line(text, len, line) ||
	    sscanf(line, "watching %9d%n", &seconds, &end) != 1 || line[end] || seconds <= 0)
		return false;
	*ret_ns = MIN(seconds, WATCHING_MAX_S) * NS_PER_SEC;
	return true;
}

bool node_kernel_line_parse(const char *text, size_t len, struct kmsg_record *ret_record)
{
	char line[LINE_MAX_BYTES];
	unsigned int priority;
	int64_t time_us;
	int end = 0;

	if (memchr(text, '\0', len) || memchr(text, '\n', len) ||
	    !node_signals_take_line(text, MIN(len, (size_t)LINE_MAX_BYTES - 1), line) ||
	    sscanf(line, "kernel %9u %18" SCNd64 "%n", &priority, &time_us, &end) != 2 ||
	    line[end] != ' ' || priority > 7 || time_us < 0)
		return false;
	*ret_record = (struct kmsg_record){
		.priority = (int)priority,
		.seq = -1,
		.time_us = time_us,
		.text = text + end + 1,
		.len = len - (size_t)end - 1,
	};
	return true;
}

void node_syslog_add(struct strbuf *lines, const char *text, size_t len)
{
	static const char verb[] = "syslog ";
	char line[SYSLOG_LINE_MAX];

	if (len < sizeof(verb) || memcmp(text, verb, sizeof(verb) - 1) != 0)
		return;
	copy_printable(line, sizeof(line), text + sizeof(verb) - 1, len - (sizeof(verb) - 1));
	size_t n = strlen(line) + 1;
	if (lines->len + n > NODE_SYSLOG_MAX) {
		const char *half =
			memchr(lines->data + lines->len / 2, '\n', lines->len - lines->len / 2);

		strbuf_consume(lines, half ? (size_t)(half - lines->data) + 1 : lines->len);
	}
	strbuf_addf(lines, "%s\n", line);
}

void node_signals_add(struct node_signals *all, const struct node_signal *s, bool vital)
{
	if (vital)
		all->vital[all->n_vital++ % NODE_SIGNALS_VITAL_MAX] = *s;
	else
		all->others[all->n_others++ % NODE_SIGNALS_OTHER_MAX] = *s;
}

static size_t list_ring(const struct node_signal *ring, size_t room, size_t added,
			struct node_signal *ret_list)
{
	size_t n = MIN(added, room);

	for (size_t i = 0; i < n; i++)
		ret_list[i] = ring[(added - n + i) % room];
	return n;
}

size_t node_signals_list(const struct node_signals *all,
			 struct node_signal ret_list[static NODE_SIGNALS_MAX])
{
	size_t n = list_ring(all->vital, NODE_SIGNALS_VITAL_MAX, all->n_vital, ret_list);

	return n + list_ring(all->others, NODE_SIGNALS_OTHER_MAX, all->n_others, ret_list + n);
}
