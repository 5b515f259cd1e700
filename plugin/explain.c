/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains exit codes, classes, reasons of Kubernetes and words of Ray, from tables and the rule
 * for signals.
 */
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
#include "lib/phrases.h"
#include "plugin/table.h"

#define COLUMNS 100

enum whose_word { OF_ANY_COMMAND, OF_KUBERNETES, OF_RAY };

/*
 * names: separated by '|'. Those of Ray are found in a longer text, too: "Error" of a status would
 * be found in too many.
 */
static const struct {
	const char *names, *what, *who, *next;
	enum whose_word whose;
} words[] = {
#define EXIT_CODE(code, what, who, next) { #code, what, who, next, OF_ANY_COMMAND },
#include "plugin/exit_codes.def"
#undef EXIT_CODE
#define WORD(names, what, who, next) { names, what, who, next, OF_KUBERNETES },
#include "plugin/status_reasons.def"
#undef WORD
#define WORD(names, what, who, next) { names, what, who, next, OF_RAY },
#include "plugin/ray_words.def"
#undef WORD
};

/* For people without Kubernetes. Reasons of Kubernetes stay as they are. */
static const struct phrase phrases[] = {
	{ "`kubectl afterglow show` takes the pod, the node's IP, or Ray's ID of the node or worker, and says what ended it.",
	  "`afterglow list` has what ended shortly before, and `afterglow show` its report." },
	{ "kubectl afterglow memory CLUSTER", "afterglow memory" },
	{ "kubectl afterglow stack CLUSTER", "afterglow stack" },
	{ "kubectl afterglow", "afterglow" },
	{ "; PodDeleted and NodeShutdown mean that the pod was ended from outside", "" },
	{ "Look at the container's status: kubectl describe pod.",
	  "What it has written says why." },
	{ "the kubelet, when a container did not end within its grace period or failed a probe; the runtime, when the pod was deleted",
	  "a batch system, when a job did not end in time" },
	{ "KernelOOMPod, KernelOOMNode, ProbeKilled, Evicted, PodDeleted, NodeShutdown, ",
	  "KernelOOMProcess, KernelOOMNode, " },
	{ "The kubelet, when the pod is deleted, evicted or its node is drained; a failed probe; the autoscaler, KubeRay or a person through the API",
	  "A batch system at the job's time limit or when it is cancelled, a service manager, `ray stop`, or anybody with kill" },
	{ "The pod was deleted, evicted or killed", "The machine went down, its job ended" },
	{ ": in a pod that may be the pod's", "" },
	{ "at the pod's memory limit", "at a memory limit above its own" },
	{ "Set requests equal to limits for the pods on it, so that the scheduler does not promise memory twice",
	  "See what else runs on it, or give the command a limit: afterglow run --memory-max" },
	{ "; only the node agent can name its sender", "" },
	{ "this container", "this command" },
	{ "the container", "the command" },
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

/* What is known of a code, a signal, a class or a word. who and next may be "". */
struct explanation {
	char name[64], what[512], who[512], next[512];
	bool is_class, is_of_kubernetes;
};

static void explain_rule(int code, struct explanation *e)
{
	int signo = exit_code_signal(code);
	const char *meaning = signal_meaning(signo);
	int n;

	if (!signo) {
		n = snprintf(
			e->what, sizeof(e->what),
			"The program chose this code itself. Its documentation, or the end of its log, explains it.");
		if (code > 0 && code <= LINUX_SIGSYS)
			snprintf(e->what + n, sizeof(e->what) - (size_t)n,
				 " As the number of a signal, %d is %s: explain %s.", code,
				 signal_name(code), signal_name(code));
		return;
	}
	n = snprintf(e->what, sizeof(e->what), "%s ended the command (128 + %d).",
		     signal_name(signo), signo);
	if (meaning)
		snprintf(e->what + n, sizeof(e->what) - (size_t)n, " A process gets it %s.",
			 meaning);
}

static void explanation_fill(struct explanation *e, const char *what, const char *who,
			     const char *next)
{
	snprintf(e->what, sizeof(e->what), "%s", what);
	snprintf(e->who, sizeof(e->who), "%s", who ? who : "");
	snprintf(e->next, sizeof(e->next), "%s", next ? next : "");
}

/* The table has its meanings in lower case, as the cells of documents need them. */
static void explain_class(enum failure_class class, struct explanation *e)
{
	const char *meaning = failure_class_meaning(class);

	snprintf(e->name, sizeof(e->name), "%s", failure_class_name(class));
	snprintf(e->what, sizeof(e->what), "%c%s.", toupper((unsigned char)meaning[0]),
		 meaning + 1);
	snprintf(e->next, sizeof(e->next), "%s", advice[class] ? advice[class] : "");
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
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)*end))
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
			if (len <= longest || !is_named(text, name, words[i].whose == OF_RAY))
				continue;
			longest = len;
			memcpy(e->name, name, sizeof(name));
			explanation_fill(e, words[i].what, words[i].who, words[i].next);
			e->is_of_kubernetes = words[i].whose == OF_KUBERNETES;
		}
	return longest > 0;
}

static void explain_code(int code, struct explanation *e)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", code);
	if (!explain_word(text, e))
		explain_rule(code, e);
	snprintf(e->name, sizeof(e->name), "Exit code %d", code);
}

static void explain_signal(int signo, struct explanation *e)
{
	explain_code(EXIT_CODE_OF_SIGNAL(signo), e);
	snprintf(e->name, sizeof(e->name), "%s, signal %d", signal_name(signo), signo);
	if (!exit_code_signal(EXIT_CODE_OF_SIGNAL(signo)))
		explanation_fill(
			e,
			"It ends no process: it stops one, lets it go on, or tells it something.",
			NULL, NULL);
}

static int signal_of_name(const char *name)
{
	for (int signo = 1; signo <= LINUX_SIGSYS; signo++)
		if (strcasecmp(signal_name(signo), name) == 0 ||
		    strcasecmp(signal_name(signo) + strlen("SIG"), name) == 0)
			return signo;
	return 0;
}

/*
 * Returns false if nothing of that name is known. Python's subprocess and `kill` write a signal as
 * its negative number.
 */
static bool explanation_find(const char *what, struct explanation *e)
{
	char *end;
	long code = strtol(what, &end, 10);
	int signo = *what && !*end && code < 0 && code >= -LINUX_SIGSYS ? (int)-code :
									  signal_of_name(what);

	*e = (struct explanation){ 0 };
	if (*what && !*end && code >= 0 && code <= 255) {
		explain_code((int)code, e);
		return true;
	}
	/* "Trap" is a class, and "TRAP" a signal that it is about. */
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class ++)
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
	json_set_str(json, "who", e->who[0] ? e->who : NULL);
	json_set_str(json, "next", e->next[0] ? e->next : NULL);
	document_print(json, "Explanation", out);
}

static void add_text(const struct explanation *e, bool of_command, struct strbuf *out)
{
	strbuf_addf(out, "%s\n", e->name);
	add_wrapped(out, e->what, 4);
	if (e->who[0])
		add_part(out, "Who or what does that", e->who);
	if (e->next[0])
		add_part(out, e->is_class ? "What to do" : "What to look at", e->next);
	if (e->is_class)
		strbuf_addf(out, "\nYour failures of this class: %s --class %s\n",
			    of_command ? "afterglow list" : "kubectl afterglow list -A", e->name);
}

int explain(const char *what, bool as_json, bool of_command, struct strbuf *out, struct err *err)
{
	struct explanation e;

	if (!explanation_find(what, &e))
		return err_set(
			err, EINVAL,
			"explain: \"%.60s\" must be an exit code from 0 to 255, a signal such as SIGKILL or -9, a class such "
			"as KernelOOMContainer, a reason such as OOMKilled, or an exception of Ray's such as NodeDiedError",
			what);
	for (char *const *text = (char *const[]){ e.what, e.who, e.next, NULL };
	     *text && of_command && !e.is_of_kubernetes; text++)
		phrases_replace(*text, sizeof(e.what), phrases, ARRAY_SIZE(phrases));
	if (as_json)
		add_json(&e, out);
	else
		add_text(&e, of_command, out);
	return 0;
}
