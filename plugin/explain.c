/* SPDX-License-Identifier: Apache-2.0 */
/* Explains exit codes, classes and the reasons of a container's status, from tables and the rule for signals. */
#include "plugin/explain.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/exit_code.h"
#include "lib/failure_class.h"
#include "lib/macros.h"

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

static void add_parts(struct strbuf *out, const char *what, const char *who, const char *next)
{
	add_wrapped(out, what, 4);
	add_part(out, "Who or what does that", who);
	add_part(out, "What to look at", next);
}

static void explain_rule(int code, struct strbuf *out)
{
	int signo = exit_code_signal(code);
	const char *meaning = signal_meaning(signo);

	strbuf_addf(out, "Exit code %d\n", code);
	if (!signo) {
		add_wrapped(
			out,
			"The program chose this code itself. Its documentation, or the end of its log, explains it.",
			4);
		return;
	}
	strbuf_addf(out, "    %s ended the command (128 + %d).\n", signal_name(signo), signo);
	if (meaning)
		strbuf_addf(out, "    A process gets it %s.\n", meaning);
}

static int explain_code(int code, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code) {
			strbuf_addf(out, "Exit code %d\n", code);
			add_parts(out, codes[i].what, codes[i].who, codes[i].next);
			return 0;
		}
	explain_rule(code, out);
	return 0;
}

/* The table has its meanings in lower case, as the cells of documents need them. */
static int explain_class(enum failure_class class, struct strbuf *out)
{
	const char *meaning = failure_class_meaning(class);

	strbuf_addf(out, "%s\n", failure_class_name(class));
	strbuf_addf(out, "    %c%s.\n", toupper((unsigned char)meaning[0]), meaning + 1);
	if (advice[class])
		add_part(out, "What to do", advice[class]);
	strbuf_addf(out, "\nYour failures of this class: kubectl afterglow list -A --class %s\n",
		    failure_class_name(class));
	return 0;
}

static int explain_reason(size_t i, struct strbuf *out)
{
	strbuf_addf(out, "%s\n", reasons[i].reason);
	add_parts(out, reasons[i].what, reasons[i].who, reasons[i].next);
	return 0;
}

int explain(const char *what, struct strbuf *out, struct err *err)
{
	char *end;
	long code = strtol(what, &end, 10);

	if (*what && !*end && code >= 0 && code <= 255)
		return explain_code((int)code, out);
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class++)
		if (strcasecmp(failure_class_name(class), what) == 0)
			return explain_class(class, out);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcasecmp(reasons[i].reason, what) == 0)
			return explain_reason(i, out);
	return err_set(
		err, EINVAL,
		"explain: \"%.60s\" must be an exit code from 0 to 255, a class such as KernelOOMContainer, or a reason such as OOMKilled",
		what);
}
