/* SPDX-License-Identifier: Apache-2.0 */
/* Explains exit codes, classes and the reasons of a container's status, from tables and the rule for signals. */
#include "plugin/explain.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/exit_code.h"
#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/table.h"

#define COLUMNS 100

static const struct {
	int code;
	const char *what, *who, *next;
} codes[] = {
#define EXIT_CODE(code, what, who, next) { code, what, who, next },
#include "plugin/exit_codes.def"
#undef EXIT_CODE
};

static const struct {
	const char *reason, *what, *who, *next;
} reasons[] = {
#define STATUS_REASON(reason, what, who, next) { #reason, what, who, next },
#include "plugin/status_reasons.def"
#undef STATUS_REASON
};

static const char *const advice[FAILURE_CLASS_COUNT] = {
#define ADVICE(class, text) [FAILURE_##class] = text,
#include "plugin/advice.def"
#undef ADVICE
};

void add_wrapped(struct strbuf *out, const char *text, size_t indent)
{
	size_t column = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column && column + 1 + len > COLUMNS) {
			strbuf_addc(out, '\n');
			column = 0;
		}
		if (!column)
			for (; column < indent; column++)
				strbuf_addc(out, ' ');
		else {
			strbuf_addc(out, ' ');
			column++;
		}
		strbuf_add(out, text, len);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	strbuf_addc(out, '\n');
}

static void add_part(struct strbuf *out, const char *heading, const char *text)
{
	strbuf_addf(out, "\n%s\n", heading);
	add_wrapped(out, text, 4);
}

/* What is known of a code, a class or a reason. who and next may be NULL. */
struct explanation {
	char name[64], what[512];
	const char *who, *next;
	bool is_class;
};

static void explain_rule(int code, struct explanation *e)
{
	int signo = exit_code_signal(code);
	const char *meaning = signal_meaning(signo);
	int n;

	if (!signo) {
		snprintf(e->what, sizeof(e->what),
			 "The program chose this code itself. Its documentation, or the end of its log, explains it.");
		return;
	}
	n = snprintf(e->what, sizeof(e->what), "%s ended the command (128 + %d).", signal_name(signo), signo);
	if (meaning)
		snprintf(e->what + n, sizeof(e->what) - (size_t)n, " A process gets it %s.", meaning);
}

static void explanation_fill(struct explanation *e, const char *what, const char *who,
			     const char *next)
{
	snprintf(e->what, sizeof(e->what), "%s", what);
	e->who = who;
	e->next = next;
}

static void explain_code(int code, struct explanation *e)
{
	snprintf(e->name, sizeof(e->name), "Exit code %d", code);
	explain_rule(code, e);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code)
			explanation_fill(e, codes[i].what, codes[i].who, codes[i].next);
}

/* The table has its meanings in lower case, as the cells of documents need them. */
static void explain_class(enum failure_class class, struct explanation *e)
{
	const char *meaning = failure_class_meaning(class);

	snprintf(e->name, sizeof(e->name), "%s", failure_class_name(class));
	snprintf(e->what, sizeof(e->what), "%c%s.", toupper((unsigned char)meaning[0]), meaning + 1);
	e->next = advice[class];
	e->is_class = true;
}

/* Returns false if nothing of that name is known. */
static bool explanation_find(const char *what, struct explanation *e)
{
	char *end;
	long code = strtol(what, &end, 10);

	*e = (struct explanation){ .who = NULL };
	if (*what && !*end && code >= 0 && code <= 255) {
		explain_code((int)code, e);
		return true;
	}
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class++)
		if (strcasecmp(failure_class_name(class), what) == 0) {
			explain_class(class, e);
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcasecmp(reasons[i].reason, what) == 0) {
			snprintf(e->name, sizeof(e->name), "%s", reasons[i].reason);
			explanation_fill(e, reasons[i].what, reasons[i].who, reasons[i].next);
			return true;
		}
	return false;
}

static void add_json(const struct explanation *e, struct strbuf *out)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();

	json_set_str(json, "name", e->name);
	json_set_str(json, "meaning", e->what);
	json_set_str(json, "who", e->who);
	json_set_str(json, "next", e->next);
	json_print(json, out);
}

static void add_text(const struct explanation *e, struct strbuf *out)
{
	strbuf_addf(out, "%s\n", e->name);
	add_wrapped(out, e->what, 4);
	if (e->who)
		add_part(out, "Who or what does that", e->who);
	if (e->next)
		add_part(out, e->is_class ? "What to do" : "What to look at", e->next);
	if (e->is_class)
		strbuf_addf(out, "\nYour failures of this class: kubectl afterglow list -A --class %s\n", e->name);
}

int explain(const char *what, bool as_json, struct strbuf *out, struct err *err)
{
	struct explanation e;

	if (!explanation_find(what, &e))
		return err_set(
			err, EINVAL,
			"explain: \"%.60s\" must be an exit code from 0 to 255, a class such as KernelOOMContainer, or a reason such as OOMKilled",
			what);
	(as_json ? add_json : add_text)(&e, out);
	return 0;
}
