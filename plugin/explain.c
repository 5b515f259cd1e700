/* SPDX-License-Identifier: Apache-2.0 */
/* Explains exit codes, classes, reasons of Kubernetes and words of Ray, from tables and the rule for signals. */
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
#include "lib/linux_signals.h"
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

/* names: separated by '|'. Those of Ray are found in a longer text, too: "Error" of a status would be found in too many. */
static const struct {
	const char *names, *what, *who, *next;
	bool is_rays;
} words[] = {
#define WORD(names, what, who, next) { names, what, who, next, .is_rays = false },
#include "plugin/status_reasons.def"
#undef WORD
#define WORD(names, what, who, next) { names, what, who, next, .is_rays = true },
#include "plugin/ray_words.def"
#undef WORD
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

/* What is known of a code, a signal, a class or a word. who and next may be NULL. */
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
		n = snprintf(e->what, sizeof(e->what),
			     "The program chose this code itself. Its documentation, or the end of its log, explains it.");
		if (code > 0 && code <= LINUX_SIGSYS)
			snprintf(e->what + n, sizeof(e->what) - (size_t)n, " As the number of a signal, %d is %s: explain %s.", code,
				 signal_name(code), signal_name(code));
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

static void explain_signal(int signo, struct explanation *e)
{
	explain_code(EXIT_CODE_OF_SIGNAL(signo), e);
	snprintf(e->name, sizeof(e->name), "%s, signal %d", signal_name(signo), signo);
	if (!exit_code_signal(EXIT_CODE_OF_SIGNAL(signo)))
		explanation_fill(e, "It ends no process: it stops one, lets it go on, or tells it something.", NULL, NULL);
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

/* Returns whether the text is the name, or has it as a whole word. */
static bool is_named(const char *text, const char *name, bool within)
{
	const char *end;

	if (strcasecmp(text, name) == 0)
		return true;
	for (const char *at = text; within && (at = strcasestr(at, name)); at++) {
		end = at + strlen(name);
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)*end))
			return true;
	}
	return false;
}

/* Explains the longest name that the text has. */
static bool explain_word(const char *text, struct explanation *e)
{
	size_t longest = 0;
	char name[sizeof(e->name)];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *at = words[i].names; *at; at += strspn(at, "|")) {
			size_t len = strcspn(at, "|");

			snprintf(name, sizeof(name), "%.*s", (int)len, at);
			at += len;
			if (len <= longest || !is_named(text, name, words[i].is_rays))
				continue;
			longest = len;
			memcpy(e->name, name, sizeof(name));
			explanation_fill(e, words[i].what, words[i].who, words[i].next);
		}
	return longest > 0;
}

static int signal_of_name(const char *name)
{
	for (int signo = 1; signo <= LINUX_SIGSYS; signo++)
		if (strcasecmp(signal_name(signo), name) == 0 || strcasecmp(signal_name(signo) + strlen("SIG"), name) == 0)
			return signo;
	return 0;
}

/* Returns false if nothing of that name is known. Python's subprocess and `kill` write a signal as its negative number. */
static bool explanation_find(const char *what, struct explanation *e)
{
	char *end;
	long code = strtol(what, &end, 10);
	int signo = *what && !*end && code < 0 && code >= -LINUX_SIGSYS ? (int)-code : signal_of_name(what);

	*e = (struct explanation){ .who = NULL };
	if (*what && !*end && code >= 0 && code <= 255) {
		explain_code((int)code, e);
		return true;
	}
	/* "Trap" is a class, and "TRAP" a signal that it is about. */
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class++)
		if (strcasecmp(failure_class_name(class), what) == 0) {
			explain_class(class, e);
			return true;
		}
	if (signo)
		explain_signal(signo, e);
	return signo || explain_word(what, e);
}

static void add_json(const struct explanation *e, struct strbuf *out)
{
	_cleanup_json_ cJSON *json = json_named_new(e->name);

	json_set_str(json, "meaning", e->what);
	json_set_str(json, "who", e->who);
	json_set_str(json, "next", e->next);
	document_print(json, "Explanation", out);
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
		return err_set(err, EINVAL, "explain: \"%.60s\" must be an exit code from 0 to 255, a signal such as SIGKILL or -9, a class such "
			       "as KernelOOMContainer, a reason such as OOMKilled, or an exception of Ray's such as NodeDiedError", what);
	(as_json ? add_json : add_text)(&e, out);
	return 0;
}
