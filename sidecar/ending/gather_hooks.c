/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what hooks printed to a bundle. */
#include "sidecar/ending/gather.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/hooks.h"

#define HEAD_MAX 4096

struct target {
	struct bundle *b;
	struct verdict *verdict;
};

/* Makes a name such as "3-py-spy.txt": the number, then the program's name. */
static void file_name(const struct hook_result *r, char *name, size_t size)
{
	char program[40];
	size_t len = strcspn(r->command, " \t\n");
	const char *slash = memrchr(r->command, '/', len), *begin = slash ? slash + 1 : r->command;

	snprintf(program, sizeof(program), "%.*s", (int)(r->command + len - begin), begin);
	bundle_sanitize(program);
	snprintf(name, size, "hooks/%u-%s.txt", r->number, program);
}

static void add_outcome(const struct hook_result *r, struct strbuf *out)
{
	char took[DURATION_TEXT_MAX], headroom[SIZE_TEXT_MAX];

	duration_format(r->ended_ns - r->at_ns, took);
	if (r->outcome == HOOK_NO_HEADROOM)
		strbuf_addf(out, "not run: only %s were left below the limit",
			    size_format((uint64_t)r->headroom, headroom));
	else if (r->outcome == HOOK_REFUSED)
		strbuf_addf(out, "not run: %s", strerror(r->refused_errno));
	else if (r->outcome == HOOK_LOST)
		strbuf_addf(out, "its end is not known: the launcher gave no answer within %s",
			    took);
	else if (r->outcome == HOOK_TIMED_OUT)
		strbuf_addf(out, "ended by us after %s", took);
	else if (WIFSIGNALED(r->wait_status))
		strbuf_addf(out, "signal %d after %s", WTERMSIG(r->wait_status), took);
	else
		strbuf_addf(out, "exit code %d after %s", WEXITSTATUS(r->wait_status), took);
}

static void add_missing(const struct hook_result *r, struct verdict *v)
{
	switch (r->outcome) {
	case HOOK_NO_HEADROOM:
		verdict_add_missing(
			v, "what a hook would have shown (see hooks/)",
			"more memory free below the limit when it is due, or a smaller --hook-headroom");
		break;
	case HOOK_TIMED_OUT:
		verdict_add_missing(v, "the rest of a hook's output (see hooks/)",
				    "a longer --hook-timeout");
		break;
	case HOOK_REFUSED:
		verdict_add_missing(v, "the output of a hook that could not be run (see hooks/)",
				    "a launcher of this version in the container");
		break;
	case HOOK_LOST:
		verdict_add_missing(v, "the end of a hook (see hooks/)",
				    "a launcher that outlives it");
		break;
	case HOOK_ENDED:
		/* A hook that was ended because it wrote too much did not fail. */
		if (r->wait_status && !r->cut)
			verdict_add_missing(v, "the result of a hook that failed (see hooks/)",
					    "a command that succeeds in the container");
		break;
	}
}

static void add_hook(const struct hook_result *r, void *arg)
{
	struct target *t = arg;
	_cleanup_strbuf_ struct strbuf text =
		STRBUF_INIT(HEAD_MAX + HOOK_COMMAND_MAX + HOOK_OUTPUT_MAX);
	char when[TIME_TEXT_MAX], name[80];
	struct err err = { 0 };

	strbuf_addf(&text, "# %s\n# AFTERGLOW_PID=%d AFTERGLOW_REASON=%s\n# %s, ", r->command,
		    (int)r->pid, r->reason,
		    time_format(now_realtime_ns() - (now_boottime_ns() - r->at_ns), when));
	add_outcome(r, &text);
	strbuf_addf(&text, "%s\n", r->cut ? "; the output below is its beginning" : "");
	strbuf_add(&text, strbuf_str(&r->output), r->output.len);
	file_name(r, name, sizeof(name));
	if (bundle_add(t->b, name, strbuf_str(&text), text.len, &err) < 0)
		log_warning("%s", err_text(&err));
	add_missing(r, t->verdict);
}

void gather_hooks(struct bundle *b, const struct observer *o, struct report *r)
{
	struct target t = { .b = b, .verdict = &r->verdict };

	hooks_each(o->hooks, now_boottime_ns(), add_hook, &t);
}
