/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the failures of this pod so far, and the last report of each of its containers. */
#include "sidecar/keeping/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"

#define FAILURES_FILE "failures.json"
#define LAST_PREFIX "last."

void failure_release(struct failure *f)
{
	free(TAKE_PTR(f->summary));
}

/*
 * The id is the bundle's own name, which is unique in the container. A failure without a bundle
 * gets the name that its bundle would have.
 */
static void set_id(struct failure *f)
{
	const char *slash = strrchr(f->bundle, '/');
	char when[TIME_TEXT_MAX];

	if (slash && slash[1])
		snprintf(f->id, sizeof(f->id), "%s", slash + 1);
	else
		snprintf(f->id, sizeof(f->id), "%s-%s", time_format(f->ended_unix_ns, when),
			 failure_class_name(f->class));
}

void failure_of_report(const struct report *r, bool container_lives, struct failure *ret_failure)
{
	*ret_failure = (struct failure){
		.ended_unix_ns = r->ended_unix_ns,
		.class = r->verdict.class,
		.confidence = r->verdict.confidence,
		.exit_code = r->verdict.exit_code,
		.signal = r->verdict.signal,
		.container_lives = container_lives,
		.place = !r->bundle[0]	    ? PLACE_NOWHERE :
			 r->keeping.spooled ? PLACE_SPOOL :
					      PLACE_STORE,
	};
	snprintf(ret_failure->container, sizeof(ret_failure->container), "%s", r->id.container);
	snprintf(ret_failure->sentence, sizeof(ret_failure->sentence), "%s", r->verdict.sentence);
	snprintf(ret_failure->signature, sizeof(ret_failure->signature), "%s", r->signature);
	snprintf(ret_failure->bundle, sizeof(ret_failure->bundle), "%s", r->bundle);
	set_id(ret_failure);
	if (container_lives)
		ret_failure->summary = report_summary(r, FAILURE_SUMMARY_MAX);
}

static const char *const places[PLACE_COUNT] = { "nowhere", "spool", "store", "dropped" };

/* A report.json does not say where its bundle is. It was found in the spool. */
static enum place place_from_name(const char *name, const char *bundle)
{
	for (enum place p = 0; name && p < PLACE_COUNT; p++)
		if (strcmp(places[p], name) == 0)
			return p;
	return bundle[0] ? PLACE_SPOOL : PLACE_NOWHERE;
}

static int signal_of_name(const char *name)
{
	for (int s = 1; name && s < 65; s++)
		if (signal_name(s) && strcmp(signal_name(s), name) == 0)
			return s;
	return 0;
}

bool failure_of_json(const cJSON *json, struct failure *ret_failure)
{
	const char *container = json_str(json, "container"), *sentence = json_str(json, "sentence");
	const char *class = json_str(json, "class"), *confidence = json_str(json, "confidence");
	const char *bundle = json_str(json, "bundle"), *ended = json_str(json, "endedAt");
	const char *id = json_str(json, "id"), *held = json_str(json, "heldUntil");
	const char *signature = json_str(json, "signature");
	const cJSON *summary = json_get(json, "summary");
	int class_id = class ? failure_class_from_name(class) : -1;
	int confidence_id = confidence ? confidence_from_name(confidence) : -1;
	struct failure f = { .class = (enum failure_class)class_id,
			     .confidence = (enum confidence)confidence_id };

	if (!container || !sentence || class_id < 0 || confidence_id < 0)
		return false;
	if ((ended && time_parse(ended, &f.ended_unix_ns, NULL) < 0) ||
	    (held && time_parse(held, &f.held_until_unix_ns, NULL) < 0))
		return false;
	f.exit_code = (int)MAX(MIN(json_int(json, "exitCode", -1), (int64_t)255), (int64_t)-1);
	f.container_lives = json_bool(json, "containerLives", false);
	f.signal = signal_of_name(json_str(json, "signal"));
	snprintf(f.container, sizeof(f.container), "%s", container);
	snprintf(f.sentence, sizeof(f.sentence), "%s", sentence);
	snprintf(f.signature, sizeof(f.signature), "%s", signature ? signature : "");
	snprintf(f.bundle, sizeof(f.bundle), "%s", bundle ? bundle : "");
	f.place = place_from_name(json_str(json, "bundleIn"), f.bundle);
	set_id(&f);
	if (id)
		snprintf(f.id, sizeof(f.id), "%s", id);
	if (cJSON_IsObject(summary))
		f.summary = cJSON_PrintUnformatted(summary);
	*ret_failure = f;
	return true;
}

void failure_summarize(struct failure *f, const cJSON *report_json)
{
	static const char *const members[] = { "class",	    "confidence", "sentence", "exitCode",
					       "signal",    "startedAt",  "endedAt",  "memory",
					       "processes", "evidence",	  "missing",  "bundle",
					       "signature", "process" };
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_set(json, members[i],
			 cJSON_Duplicate(json_get(report_json, members[i]), true));
	json_set(json, "final", cJSON_CreateTrue());
	for (cJSON *processes = json_get(json, "processes");;
	     cJSON_DeleteItemFromArray(processes, cJSON_GetArraySize(processes) - 1)) {
		text = cJSON_PrintUnformatted(json);
		if (!text || strlen(text) <= FAILURE_SUMMARY_MAX || !processes || !processes->child)
			break;
		free(TAKE_PTR(text));
	}
	f->container_lives = true;
	failure_release(f);
	f->summary = text && strlen(text) <= FAILURE_SUMMARY_MAX ? TAKE_PTR(text) : NULL;
}

static cJSON *failure_to_json(const struct failure *f)
{
	cJSON *json = cJSON_CreateObject();
	char when[TIME_TEXT_MAX];

	json_set_str(json, "id", f->id);
	json_set_str(json, "container", f->container);
	json_set_str(json, "endedAt",
		     f->ended_unix_ns ? time_format(f->ended_unix_ns, when) : NULL);
	json_set_str(json, "class", failure_class_name(f->class));
	json_set_str(json, "confidence", confidence_name(f->confidence));
	if (f->exit_code >= 0)
		json_set_int(json, "exitCode", f->exit_code);
	else
		json_set_str(json, "exitCode", NULL);
	json_set_str(json, "signal", signal_name(f->signal));
	json_set(json, "containerLives", cJSON_CreateBool(f->container_lives));
	json_set_str(json, "sentence", f->sentence);
	json_set_str(json, "signature", f->signature[0] ? f->signature : NULL);
	json_set_str(json, "bundle", f->bundle[0] ? f->bundle : NULL);
	json_set_str(json, "bundleIn", places[f->place]);
	json_set_str(json, "heldUntil",
		     f->held_until_unix_ns ? time_format(f->held_until_unix_ns, when) : NULL);
	json_set(json, "summary", f->summary ? cJSON_CreateRaw(f->summary) : cJSON_CreateNull());
	return json;
}

cJSON *journal_to_json(const struct journal *j)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *list = json_array_at(json, "failures");

	json_set_int(json, "forgotten", (int64_t)j->forgotten);
	for (size_t i = 0; i < j->n; i++)
		json_append(list, failure_to_json(&j->failures[i]));
	return json;
}

static void save(const struct journal *j)
{
	_cleanup_json_ cJSON *json = journal_to_json(j);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(json);

	if (text)
		file_replace(j->dirfd, FAILURES_FILE, text, strlen(text));
}

void journal_set_place(struct journal *j, const char *bundle, enum place place)
{
	bool any = false;

	for (size_t i = 0; i < j->n; i++)
		if (strcmp(j->failures[i].bundle, bundle) == 0 && j->failures[i].place != place) {
			j->failures[i].place = place;
			any = true;
		}
	if (!any)
		return;
	j->changes++;
	save(j);
}

static void load(struct journal *j)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(JOURNAL_JSON_MAX);
	_cleanup_json_ cJSON *json = NULL;
	const cJSON *item;

	if (file_read(j->dirfd, FAILURES_FILE, &text, NULL) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &json, NULL) < 0)
		return;
	j->forgotten = (uint64_t)MAX(json_int(json, "forgotten", 0), (int64_t)0);
	cJSON_ArrayForEach(item, json_get(json, "failures"))
		if (j->n < JOURNAL_MAX && failure_of_json(item, &j->failures[j->n]))
			j->by_class[j->failures[j->n++].class]++;
}

void journal_open(struct journal *j, int dirfd)
{
	*j = (struct journal){ .dirfd = dirfd };
	if (dirfd >= 0)
		load(j);
}

void journal_close(struct journal *j)
{
	for (size_t i = 0; i < j->n; i++)
		failure_release(&j->failures[i]);
	j->n = 0;
	for (size_t i = 0; i < JOURNAL_NAMES_MAX; i++)
		free(TAKE_PTR(j->last[i].text));
}

/* The slot of the container's last report, or a free slot; the first slot if all are taken. */
static size_t last_slot(const struct journal *j, const char *container)
{
	size_t unused = JOURNAL_NAMES_MAX;

	for (size_t i = 0; i < JOURNAL_NAMES_MAX; i++) {
		if (j->last[i].text && strcmp(j->last[i].container, container) == 0)
			return i;
		if (!j->last[i].text && unused == JOURNAL_NAMES_MAX)
			unused = i;
	}
	return unused % JOURNAL_NAMES_MAX;
}

static bool known(const struct journal *j, const struct failure *f)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct failure *other = &j->failures[i];

		if (f->bundle[0] && strcmp(other->bundle, f->bundle) == 0 &&
		    strcmp(other->container, f->container) == 0)
			return true;
	}
	return false;
}

static void append(struct journal *j, const struct failure *f)
{
	if (j->n == JOURNAL_MAX) {
		failure_release(&j->failures[0]);
		memmove(j->failures, j->failures + 1, (JOURNAL_MAX - 1) * sizeof(j->failures[0]));
		j->n--;
		j->forgotten++;
	}
	j->failures[j->n] = *f;
	j->failures[j->n++].summary = f->summary ? strdup(f->summary) : NULL;
	j->by_class[f->class]++;
	j->changes++;
	save(j);
}

bool journal_add(struct journal *j, const struct failure *f, const char *text)
{
	size_t slot = last_slot(j, f->container);
	char file[sizeof(LAST_PREFIX) + sizeof(f->container)];
	bool new = !known(j, f);

	if (new)
		append(j, f);
	if (f->container_lives)
		return new;
	if (j->last[slot].text && j->dirfd >= 0 &&
	    strcmp(j->last[slot].container, f->container) != 0) {
		snprintf(file, sizeof(file), LAST_PREFIX "%s", j->last[slot].container);
		unlinkat(j->dirfd, file, 0);
	}
	free(j->last[slot].text);
	j->last[slot].text = strndup(text, LAST_REPORT_MAX);
	snprintf(j->last[slot].container, sizeof(j->last[slot].container), "%s", f->container);
	snprintf(file, sizeof(file), LAST_PREFIX "%s", f->container);
	file_replace(j->dirfd, file, text, strnlen(text, LAST_REPORT_MAX));
	return new;
}

/* Loads the last report that a previous sidecar kept, when it is first needed. */
static void load_last(struct journal *j, size_t slot, const char *container)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(LAST_REPORT_MAX);
	char file[sizeof(LAST_PREFIX) + sizeof(j->last[slot].container)];

	snprintf(file, sizeof(file), LAST_PREFIX "%s", container);
	if (j->dirfd < 0 || file_read(j->dirfd, file, &text, NULL) < 0 || !text.len)
		return;
	free(j->last[slot].text);
	j->last[slot].text = strbuf_detach(&text);
	snprintf(j->last[slot].container, sizeof(j->last[slot].container), "%s", container);
}

const char *journal_last_report(struct journal *j, const char *container)
{
	size_t slot = last_slot(j, container);

	if (!j->last[slot].text || strcmp(j->last[slot].container, container) != 0)
		load_last(j, slot, container);
	return j->last[slot].text && strcmp(j->last[slot].container, container) == 0 ?
		       j->last[slot].text :
		       NULL;
}

void journal_digest(const struct journal *j, struct strbuf *out)
{
	if (!j->n)
		return;
	strbuf_addf(out, "Failures of this pod so far: %" PRIu64 "\n", j->forgotten + j->n);
	if (j->forgotten)
		strbuf_addf(out, "  (the first %" PRIu64 " are not listed)\n", j->forgotten);
	for (size_t i = 0; i < j->n; i++) {
		const struct failure *f = &j->failures[i];
		char when[TIME_TEXT_MAX];

		strbuf_addf(out, "  %s  %s, %s: %s\n", time_format(f->ended_unix_ns, when),
			    failure_class_name(f->class), confidence_name(f->confidence),
			    f->sentence);
		if (f->bundle[0])
			strbuf_addf(out, "    bundle %s\n", f->bundle);
	}
}
