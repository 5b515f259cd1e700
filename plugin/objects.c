/* SPDX-License-Identifier: Apache-2.0 */
/* Asks Ray what its object store holds, by a script in the head's container. */
#include "plugin/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "plugin/objects_growth.h"
#include "plugin/pod_sidecar.h"
#include "plugin/reads.h"
#include "plugin/table.h"

#define ANSWER_MAX \
	((size_t)16 << 20) /* bytes; a pod says what it likes, and JSON takes 27 times as much */
#define GROUPS_SHOWN 20
#define HOLDERS_SHOWN 6
#define PROCESSES_SHOWN 8

static const char objects_script[] =
#include "plugin/objects_script.def"
	;

/*
 * --- The text
 * ------------------------------------------------------------------------------------------
 */

/* How a process keeps an object: Ray's name for it, and ours. */
static const struct {
	const char *how, *words;
} holds[] = {
	{ "PINNED_IN_MEMORY", "values that were read from it" },
	{ "LOCAL_REFERENCE", "an ObjectRef" },
	{ "USED_BY_PENDING_TASK", "an argument of a task that has not finished" },
	{ "CAPTURED_IN_OBJECT", "an ObjectRef inside of another object" },
};

static const char *hold_words(const cJSON *holder)
{
	for (size_t i = 0; i < ARRAY_SIZE(holds); i++)
		if (json_is(holder, "how", holds[i].how))
			return holds[i].words;
	return "Ray does not say how";
}

static void holder_add(const cJSON *holder, struct strbuf *out)
{
	const cJSON *processes = json_get(holder, "processes");
	const char *type = json_is(holder, "type", "DRIVER") ? "driver" :
			   json_is(holder, "type", "WORKER") ? "worker" :
							       "other process";
	int n = cJSON_GetArraySize(processes), shown = 0;

	strbuf_addf(out, "   kept by %d %s%s: %s", n, type,
		    n == 1	   ? "" :
		    type[0] == 'o' ? "es" :
				     "s",
		    hold_words(holder));
	if (*json_str_or(holder, "site", ""))
		add_between(out, ", at ", json_str(holder, "site"), "");
	strbuf_adds(out, "; PID");
	json_each(process, processes) {
		if (shown++ == PROCESSES_SHOWN) {
			strbuf_addf(out, " and %d more", n - PROCESSES_SHOWN);
			break;
		}
		strbuf_addf(out, "%s %jd", shown > 1 ? "," : "",
			    (intmax_t)json_int(process, "pid", 0));
		if (!process->next || shown == PROCESSES_SHOWN ||
		    !json_is(process->next, "ip", json_str(process, "ip")))
			add_between(out, " on ", json_str_or(process, "ip", "?"), "");
	}
	strbuf_adds(out, "\n");
}

/* Nothing if the group was not compared with an earlier answer. */
static void before_add(const cJSON *group, struct strbuf *out)
{
	int64_t n = json_int(group, "objectsBefore", -1);

	if (n == 0)
		strbuf_adds(out, " (before: none)");
	else if (n > 0)
		strbuf_addf(out, " (before: %s in %jd)",
			    SIZE_TEXT(json_int(group, "bytesBefore", 0)), (intmax_t)n);
}

static void group_add(const cJSON *group, struct strbuf *out)
{
	int64_t n = json_int(group, "objects", 0), unknown = json_int(group, "sizeUnknown", 0);
	const char *site = json_str_or(group, "site", ""), *by = json_str_or(group, "madeBy", "");
	const cJSON *holders = json_get(group, "holders");
	int shown = 0, left = cJSON_GetArraySize(holders) - HOLDERS_SHOWN;

	strbuf_addf(out, "\n%s in %jd object%s", SIZE_TEXT(json_int(group, "bytes", 0)),
		    (intmax_t)n, n == 1 ? "" : "s");
	before_add(group, out);
	if (unknown)
		strbuf_addf(out, " (the size of %jd is not known)", (intmax_t)unknown);
	strbuf_adds(out, strcmp(by, "ray.put") == 0 ? ", made by ray.put" :
			 strcmp(by, "task") == 0    ? ", returned by a task that was called" :
			 strcmp(by, "actor") == 0   ? ", returned by an actor that was called" :
						      "");
	if (*site)
		add_between(out, " at ", site, "");
	if (json_get(group, "owner.pid")) {
		strbuf_addf(out, ", owned by %s %jd on ",
			    json_is(group, "owner.type", "DRIVER") ? "the driver" : "process",
			    (intmax_t)json_int(group, "owner.pid", 0));
		add_printable(out, json_str_or(group, "owner.ip", "?"));
	}
	strbuf_adds(out, "\n");
	json_each(holder, holders)
		if (shown++ < HOLDERS_SHOWN)
			holder_add(holder, out);
	if (left > 0)
		strbuf_addf(out, "   and %d more such lines; --output json has all\n", left);
}

void objects_text(const cJSON *answer, struct strbuf *out)
{
	const cJSON *groups = json_get(answer, "groups");
	int shown = 0, left = cJSON_GetArraySize(groups) - GROUPS_SHOWN;
	int64_t max = json_int(answer, "referencesMax", 0);

	json_each(line, json_get(answer, "store"))
		add_between(out, "", cJSON_GetStringValue(line), "\n");
	json_each(group, groups)
		if (shown++ < GROUPS_SHOWN)
			group_add(group, out);
	if (left > 0)
		strbuf_addf(out, "\n%d smaller groups are left out; --output json has all.\n",
			    left);
	if (*json_str_or(answer, "missing", "")) {
		strbuf_adds(out,
			    "\nMore objects may be held, as not all nodes answered. Ray says: ");
		add_printable(out, json_str(answer, "missing"));
		strbuf_adds(out, "\n");
	} else if (!shown)
		strbuf_adds(out, "\nNo process holds an object.\n");
	if (max && json_int(answer, "references", 0) >= max)
		strbuf_addf(
			out,
			"\nRay was asked for %jd references and there may be more, so these sums are at least so large.\n",
			(intmax_t)max);
	if (json_bool(answer, "beforePartial", false))
		strbuf_adds(out,
			    "\nThe earlier answer does not name all objects and lines of code, "
			    "so there may have been more before.\n");
	if (!json_bool(answer, "sites", true))
		strbuf_adds(
			out,
			"\nRay did not record which lines of code made the objects. It does when all pods of the cluster have the\n"
			"environment variable RAY_record_ref_creation_sites=1; that costs some time for each object.\n");
}

/*
 * --- The command
 * ---------------------------------------------------------------------------------------
 */

/*
 * The head knows best where Ray's dashboard is, which answers; any other running pod of the cluster
 * can ask it.
 */
static const cJSON *objects_pod(const cJSON *pods)
{
	const cJSON *found = NULL;

	json_each(pod, json_get(pods, "items"))
		if (json_is(pod, "status.phase", "Running") &&
		    (!found || strcmp(label_of(pod, "ray.io/node-type") ?: "", "head") == 0))
			found = pod;
	return found;
}

/* Reads what `--output json` wrote earlier. */
static int before_read(const char *path, cJSON **ret_before, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	int r = file_read(AT_FDCWD, path, &text, err);

	if (r == 0)
		r = json_parse(strbuf_str(&text), text.len, ret_before, err);
	if (r == 0 && !json_is(*ret_before, "kind", "Objects"))
		r = err_set(err, EINVAL, "it is not what `objects --output json` writes");
	return r < 0 ? err_wrap(err, "--before %.200s", path) : 0;
}

int objects_command(const struct options *o, struct strbuf *out, struct err *err)
{
	const struct kubectl kubectl = kubectl_of(o);
	_cleanup_json_ cJSON *pods = NULL, *answer = NULL, *before = NULL;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	const struct stream stream = { .on_data = stream_into_strbuf, .arg = &text, .asks = true };
	int r = o->before ? before_read(o->before, &before, err) : 0;

	if (r == 0)
		r = read_pods_named(o, o->argument, &pods, err);
	if (r < 0)
		return r;
	const cJSON *pod = objects_pod(pods),
		    *container = json_first(json_get(pod, "spec.containers"));
	if (!pod)
		return err_set(err, EPROTO,
			       "no pod that runs, and no RayCluster with one, is called \"%.253s\"",
			       o->argument);
	const char *const args[] = {
		"exec",	       json_str_or(pod, "metadata.name", ""),
		"--namespace", json_str_or(pod, "metadata.namespace", ""),
		"--container", o->container ?: json_str_or(container, "name", ""),
		"--",	       "python3",
		"-c",	       objects_script,
		NULL
	};
	r = kubectl_stream(&kubectl, args, &stream, err);
	if (r == 0)
		r = json_parse(strbuf_str(&text), text.len, &answer, err);
	if (r < 0)
		return err_wrap(err, "Ray in pod %.253s did not say what its object store holds",
				json_str_or(pod, "metadata.name", ""));
	if (before)
		objects_compare(answer, before);
	if (o->output)
		document_print(answer, "Objects", out);
	else
		objects_text(answer, out);
	return 0;
}
