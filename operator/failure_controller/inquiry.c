/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from the API server which component ended a container. */
#include "operator/failure_controller/inquiry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/strbuf.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/fate/claim.h"
#include "operator/fate/fate.h"
#include "operator/fate/node_mark.h"

#define WAIT_NS (5 * NS_PER_SEC)
#define PATH_MAX_LEN 2048
/* An EventList of 500 Events has about 300 KiB, and half of that is kept. */
#define ANSWER_MAX ((size_t)2 << 20)
#define CACHED_MAX 64
#define CACHED_NS (3 * NS_PER_SEC)
/*
 * The most bytes of all cached answers. A tenant with the right to write Events can make them as
 * long as he likes.
 */
#define CACHED_BYTES_MAX ((size_t)16 << 20)
/* An upgrade of the chart may grant the right. */
#define REFUSED_NS (600 * NS_PER_SEC)
#define SOURCES 6

/* An answer is shared by the inquiries that wait for it and by the cache. */
struct answer {
	unsigned refs;
	int64_t until_ns; /* boottime; after this it is asked again */
	enum fate_state state;
	size_t bytes; /* about as many as object takes */
	cJSON *object; /* NULL if it was not found */
};

struct inquiries {
	struct inquiries_options o;
	struct strmap cached; /* path -> struct answer */
};

struct inquiry {
	struct inquiries *inquiries;
	struct ray_failure *failure;
	bool wanted;
	unsigned asked;
	enum fate_source source; /* the source that is being asked */
	int64_t until_ns;
	struct answer *answers[SOURCES];
	void (*done)(void *arg);
	void *arg;
};

/*
 * --- Answers
 * -----------------------------------------------------------------------------------------------
 */

static void answer_unref(void *value)
{
	struct answer *answer = value;

	if (!answer || --answer->refs > 0)
		return;
	cJSON_Delete(answer->object);
	free(answer);
}

static struct answer *answer_ref(struct answer *answer)
{
	answer->refs++;
	return answer;
}

/*
 * Returns whether others can use the answer. A pod's own Events are read again for each of its
 * deaths.
 */
static bool is_shared(enum fate_source source)
{
	return source != FATE_POD_EVENTS;
}

static struct answer *find_cached(struct inquiries *inquiries, const char *path)
{
	struct answer *answer = strmap_get(&inquiries->cached, path);

	return answer && now_boottime_ns() < answer->until_ns ? answer : NULL;
}

/* Makes room for an answer of so many bytes. */
static void inquiry_forget_old(struct inquiries *inquiries, size_t bytes)
{
	const char *path;
	void *value;

	strmap_each(&inquiries->cached, &path, &value)
		if (((struct answer *)value)->until_ns <= now_boottime_ns())
			answer_unref(strmap_remove(&inquiries->cached, path));
		else
			bytes += ((struct answer *)value)->bytes;
	if (inquiries->cached.n >= CACHED_MAX || bytes > CACHED_BYTES_MAX)
		strmap_release(&inquiries->cached, answer_unref);
}

static void put_cached(struct inquiries *inquiries, const char *path, struct answer *answer)
{
	void *old = NULL;

	inquiry_forget_old(inquiries, answer->bytes);
	if (strmap_put(&inquiries->cached, path, answer_ref(answer), &old) < 0)
		answer_unref(answer);
	answer_unref(old);
}

static size_t inquiry_bytes_of(const cJSON *json)
{
	size_t bytes = sizeof(*json) + (json->string ? strlen(json->string) : 0) +
		       (json->valuestring ? strlen(json->valuestring) : 0);

	for (const cJSON *child = json->child; child; child = child->next)
		bytes += inquiry_bytes_of(child);
	return bytes;
}

/* Takes the response's object. Returns NULL if it is not an answer, or there is no memory. */
static struct answer *answer_of(struct client_response *response)
{
	struct answer *answer;

	if (response->status != 200 && response->status != 403 && response->status != 404)
		return NULL;
	answer = calloc(1, sizeof(*answer));
	if (!answer)
		return NULL;
	answer->refs = 1;
	answer->state = response->status == 200 ? FATE_FOUND :
			response->status == 403 ? FATE_REFUSED :
						  FATE_ABSENT;
	answer->until_ns = now_boottime_ns() + (response->status == 403 ? REFUSED_NS : CACHED_NS);
	answer->object = response->status == 200 ? TAKE_PTR(response->object) : NULL;
	answer->bytes = answer->object ? inquiry_bytes_of(answer->object) : 0;
	return answer;
}

/*
 * --- One inquiry
 * -------------------------------------------------------------------------------------------
 */

int inquiries_new(const struct inquiries_options *options, struct inquiries **ret_inquiries,
		  struct err *err)
{
	struct inquiries *inquiries = calloc(1, sizeof(*inquiries));

	if (!inquiries)
		return err_set(err, ENOMEM, "inquiries");
	inquiries->o = *options;
	*ret_inquiries = inquiries;
	return 0;
}

void inquiries_free(struct inquiries *inquiries)
{
	if (!inquiries)
		return;
	strmap_release(&inquiries->cached, answer_unref);
	free(inquiries);
}

static void inquiry_free(void *arg)
{
	struct inquiry *q = arg;

	if (!q)
		return;
	for (size_t i = 0; i < SOURCES; i++)
		answer_unref(q->answers[i]);
	free(q);
}

static const cJSON *inquiry_object_of(const struct inquiry *q, enum fate_source source,
				      enum fate_state *ret_state)
{
	const struct answer *answer = q->answers[__builtin_ctz(source)];

	if (ret_state)
		*ret_state = answer ? answer->state : FATE_UNSEEN;
	return answer ? answer->object : NULL;
}

static void inquiry_gather(const struct inquiry *q, struct fate_facts *known)
{
	const struct inquiries_options *o = &q->inquiries->o;
	const char *namespace = q->failure->namespace,
		   *cluster = ray_failure_text(q->failure->cluster);
	char key[512] = "";

	*known = (struct fate_facts){ .asked = q->asked, .now_ns = now_realtime_ns() };
	if (namespace && cluster &&
	    snprintf(key, sizeof(key), "%s/%s", namespace, cluster) < (int)sizeof(key)) {
		known->cluster = o->find_cluster(o->arg, key);
		known->cluster_state = known->cluster		       ? FATE_FOUND :
				       o->cluster_is_gone(o->arg, key) ? FATE_ABSENT :
									 FATE_UNSEEN;
	}
	known->node = inquiry_object_of(q, FATE_NODE, &known->node_state);
	known->job = inquiry_object_of(q, FATE_JOB, &known->job_state);
	known->pod_events = inquiry_object_of(q, FATE_POD_EVENTS, NULL);
	known->cluster_events = inquiry_object_of(q, FATE_CLUSTER_EVENTS, NULL);
	known->owner_events = inquiry_object_of(q, FATE_OWNER_EVENTS, NULL);
	known->node_events = inquiry_object_of(q, FATE_NODE_EVENTS, NULL);
}

static bool inquiry_ask_next(struct inquiry *q);

static void inquiry_finish(struct inquiry *q)
{
	void (*done)(void *arg) = q->done;
	void *arg = q->arg;

	inquiry_free(q);
	done(arg);
}

static void inquiry_on_answer(void *arg, struct client_response *response)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	struct inquiry *q = arg;
	struct answer *answer = answer_of(response);

	if (!answer)
		log_warning_limited("cannot read an object that may show who ended a container: %s",
				    err_text(&response->err));
	fate_path(q->failure, q->source, &path);
	if (answer && is_shared(q->source) && !strbuf_failed(&path))
		put_cached(q->inquiries, strbuf_str(&path), answer);
	q->answers[__builtin_ctz(q->source)] = answer;
	if (!inquiry_ask_next(q))
		inquiry_finish(q);
}

/* Returns whether an answer will come. */
static bool inquiry_ask(struct inquiry *q)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	struct client_request request = { .method = "GET",
					  .answer_max = ANSWER_MAX,
					  .drop = inquiry_free,
					  .fields = q->source == FATE_NODE ? node_mark_fields :
						    q->source == FATE_JOB  ? claim_job_fields :
									     claim_event_fields };

	fate_path(q->failure, q->source, &path);
	if (strbuf_failed(&path))
		return false;
	request.path = strbuf_str(&path);
	struct answer *known =
		is_shared(q->source) ? find_cached(q->inquiries, request.path) : NULL;
	if (known)
		q->answers[__builtin_ctz(q->source)] = answer_ref(known);
	request.deadline_ns = q->until_ns - now_boottime_ns();
	return !known && request.deadline_ns > 0 &&
	       client_start(q->inquiries->o.client, &request, inquiry_on_answer, q, NULL, NULL) ==
		       0;
}

/*
 * Returns the next source. A deletion without a record may be part of a node's drain, which
 * is recorded.
 */
static unsigned next_source(struct inquiry *q, const struct fate_facts *known)
{
	if (!q->wanted && !(q->asked & FATE_NODE))
		return fate_depends_on_node(q->failure) ? FATE_NODE : 0;
	q->wanted = q->wanted || fate_node_may_explain(q->failure, known);
	return q->wanted ? fate_next(q->failure, known) : 0;
}

/* Returns false if there is nothing more to read; then the failure has been refined. */
static bool inquiry_ask_next(struct inquiry *q)
{
	struct fate_facts known;
	unsigned next;

	for (;;) {
		inquiry_gather(q, &known);
		next = next_source(q, &known);
		if (!next)
			break;
		q->source = (enum fate_source)next;
		q->asked |= next;
		if (inquiry_ask(q))
			return true;
	}
	if (q->wanted)
		fate_refine(q->failure, &known);
	return false;
}

bool inquiries_start(struct inquiries *inquiries, struct ray_failure *failure, bool wanted,
		     void (*done)(void *arg), void *arg)
{
	struct inquiry *q = calloc(1, sizeof(*q));

	if (!q)
		return false;
	*q = (struct inquiry){ .inquiries = inquiries,
			       .failure = failure,
			       .wanted = wanted,
			       .done = done,
			       .arg = arg };
	q->until_ns = now_boottime_ns() + WAIT_NS;
	if (inquiry_ask_next(q))
		return true;
	inquiry_free(q);
	return false;
}
