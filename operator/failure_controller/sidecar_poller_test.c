/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which sidecars are asked, and what follows from their answers. The API server and the
 * sidecar are the test's own.
 */
#include "operator/failure_controller/sidecar_poller.h"

#include "lib/units.h"
#include "operator/failure_controller/failure_writer_internal.h"
#include "operator/manager/testing.h" /* cmocka, before the next */

#include "operator/failures/testing.h"

#define FAILURE(id, class)                                                                                               \
	"{\"id\":\"" id "\",\"container\":\"ray-worker\",\"containerLives\":true,\"summary\":{\"class\":\"" class "\",\"confidence\":"   \
	"\"likely\",\"sentence\":\"A worker died.\",\"endedAt\":\"2026-01-21T01:29:06.324Z\",\"final\":true}}"
#define ANSWER(tag, failures) "{\"podUID\":\"u-w\",\"tag\":\"" tag "\",\"failures\":[" failures "]}"

struct fixture {
	struct bed bed;
	struct evhttp *sidecar;
	int port;
	const char *answer; /* NULL: status 500 */
	/* The number of questions, and of those that had the current tag */
	unsigned asked, unchanged;
	char tag[64]; /* of the last question; "" for none */
	int restarts; /* as in pod_of */
};

static void on_question(struct evhttp_request *request, void *arg)
{
	struct fixture *f = arg;
	const char *tag =
		evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");
	bool same = tag && strcmp(tag, "\"1-1\"") == 0 && f->answer && strstr(f->answer, "\"1-1\"");
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(1 << 16);

	assert_string_equal(evhttp_request_get_uri(request), "/failures");
	snprintf(f->tag, sizeof(f->tag), "%s", tag ? tag : "");
	f->asked++;
	f->unchanged += same;
	if (f->answer && !same)
		report_mac_append(TESTING_KEY, REPORT_MAC_FAILURES, f->answer, &answer);
	fake_api_send(request, same ? 304 : f->answer ? 200 : 500, strbuf_str(&answer));
}

/* Returns the port that this server listens on. */
static uint16_t serve(struct evhttp *http, void (*answer)(struct evhttp_request *, void *),
		      void *arg)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	struct evhttp_bound_socket *bound;

	evhttp_set_gencb(http, answer, arg);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	assert_non_null(bound);
	assert_int_equal(
		getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &len),
		0);
	return ntohs(address.sin_port);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	bed_init(&f->bed);
	f->sidecar = evhttp_new(f->bed.api.server.base);
	f->port = serve(f->sidecar, on_question, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	evhttp_free(f->sidecar);
	bed_release(&f->bed);
	free(f);
	return 0;
}

/*
 * Makes the pod w, whose sidecar was restarted so often. Each restart is a reason to ask at once.
 */
static cJSON *pod_of(const struct fixture *f, int restarts)
{
	char text[2048];
	cJSON *pod;

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"uid\":\"u-w\","
		"\"resourceVersion\":\"%d\",\"labels\":{\"ray.io/cluster\":\"demo\",\"ray.io/group\":\"g\",\"ray.io/is-ray-node\":\"yes\"}},"
		"\"spec\":{\"containers\":[{\"name\":\"ray-worker\"},{\"name\":\"afterglow\",\"ports\":[{\"name\":\"afterglow-http\","
		"\"containerPort\":%d}]}]},\"status\":{\"podIP\":\"127.0.0.1\",\"containerStatuses\":[{\"name\":\"ray-worker\","
		"\"restartCount\":%d,\"state\":{\"running\":{\"startedAt\":\"2026-01-21T01:00:00Z\"}}},{\"name\":\"afterglow\","
		"\"restartCount\":0,\"state\":{\"running\":{}}}]}}",
		50 + restarts, f->port, restarts);
	pod = cJSON_Parse(text);
	assert_non_null(pod);
	sign_pod(pod);
	return pod;
}

static void start(struct fixture *f)
{
	_cleanup_json_ cJSON *pod = pod_of(f, 0);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(pod);

	fake_api_lists(&f->bed.api, "/pods", text);
	bed_start(&f->bed);
}

/* Something ended in the pod: it is asked at once. */
static void stir(struct fixture *f, int restarts)
{
	_cleanup_json_ cJSON *pod = pod_of(f, restarts);

	sidecar_poller_see(f->bed.poller, pod, false);
}

static bool is_asked_once(void *arg)
{
	return ((struct fixture *)arg)->asked >= 1;
}

/* Something ends in the pod again, and the sidecar is asked once more. */
static void ask_again(struct fixture *f, int restarts)
{
	f->asked = 0;
	stir(f, restarts);
	fake_api_turn(&f->bed.api, is_asked_once, f);
}

/* Runs the operator for two of its ticks. */
static void run_ticks(struct fixture *f)
{
	event_base_loopexit(f->bed.api.server.base, &(struct timeval){ .tv_usec = 600000 });
	event_base_dispatch(f->bed.api.server.base);
}

static bool is_asked_twice(void *arg)
{
	return ((struct fixture *)arg)->asked >= 2;
}

static bool has_failure(void *arg)
{
	return failure_writer_n_pending(((struct fixture *)arg)->bed.writer) > 0;
}

static void a_process_that_died_becomes_a_failure_once(void **state)
{
	struct fixture *f = *state;

	f->answer = ANSWER("1-1", FAILURE("a", "WorkerCrash"));
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, has_failure, f);
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
	/* The next question says which answer is known. */
	stir(f, 2);
	fake_api_turn(&f->bed.api, is_asked_twice, f);
	assert_string_equal(f->tag, "\"1-1\"");
	fake_api_idle(&f->bed.api);
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
}

static void a_pod_that_tells_of_more_failures_than_it_may_is_asked_again_without_a_tag(void **state)
{
	static char answer[1 << 15];
	struct fixture *f = *state;
	size_t len = (size_t)snprintf(answer, sizeof(answer),
				      "{\"podUID\":\"u-w\",\"tag\":\"1-1\",\"failures\":[");

	for (int i = 0; i < 60; i++)
		len += (size_t)snprintf(
			answer + len, sizeof(answer) - len,
			"%s{\"id\":\"f%d\",\"container\":\"ray-worker\",\"containerLives\":true,\"summary\":{\"class\":\"WorkerCrash\","
			"\"sentence\":\"x\",\"endedAt\":\"2026-01-21T01:29:06Z\",\"final\":true}}",
			i ? "," : "", i);
	snprintf(answer + len, sizeof(answer) - len, "]}");
	f->answer = answer;
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, has_failure, f);
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 60);
	/* There are sixty others. Four are taken, and the answer has to come again. */
	for (char *at = answer; (at = strstr(at, "\"id\":\"f")); at += 7)
		at[6] = 'g';
	strstr(answer, "1-1")[0] = '2';
	stir(f, 2);
	fake_api_turn(&f->bed.api, is_asked_twice, f);
	fake_api_idle(&f->bed.api);
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 64);
	ask_again(f, 3);
	assert_string_equal(f->tag, "");
}

#define DEAD_ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"
#define UNMET(settled, ends) \
	"{\"podUID\":\"u-w\",\"tag\":\"1-1\",\"failures\":[],\"unmetEnds\":{\"settled\":" settled \
	",\"ends\":[" ends "]}}"
#define DEAD_END(confidence) \
	"{\"containerID\":\"" DEAD_ID \
	"\",\"endedAt\":\"2026-01-21T01:05:00.500Z\",\"class\":\"KernelOOMContainer\"," \
	"\"confidence\":\"" confidence "\",\"cause\":\"it reached its memory limit\"}"

/* The kernel killed the container of w, whose sidecar listened only later. */
static cJSON *dead_pod(const struct fixture *f)
{
	_cleanup_json_ cJSON *end = cJSON_Parse(
		"{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\",\"containerID\":"
		"\"containerd://" DEAD_ID "\",\"startedAt\":\"2026-01-21T01:04:59Z\","
		"\"finishedAt\":\"2026-01-21T01:05:00Z\"}}");
	cJSON *pod = pod_of(f, 0), *statuses = json_get(pod, "status.containerStatuses");

	json_set(cJSON_GetArrayItem(statuses, 0), "state", cJSON_Duplicate(end, true));
	json_set_str(json_get(cJSON_GetArrayItem(statuses, 1), "state.running"), "startedAt",
		     "2026-01-21T01:05:09Z");
	return pod;
}

/* Shows the death to the writer and to the poller, as the manager does. */
static cJSON *die(struct fixture *f)
{
	cJSON *pod = dead_pod(f);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(pod);

	fake_api_lists(&f->bed.api, "/pods", text);
	bed_start(&f->bed);
	failure_writer_see(f->bed.writer, pod, false);
	sidecar_poller_see(f->bed.poller, pod, false);
	assert_true(failure_writer_awaits_sidecar(f->bed.writer, pod));
	return pod;
}

struct death {
	struct fixture *f;
	const cJSON *pod;
};

static bool is_heard(void *arg)
{
	const struct death *d = arg;

	return !failure_writer_awaits_sidecar(d->f->bed.writer, d->pod);
}

/* The pod dies, and the operator asks its sidecar until this answer is enough for it. */
static cJSON *die_and_be_heard(struct fixture *f, const char *answer)
{
	struct death d = { .f = f };
	cJSON *pod;

	f->answer = answer;
	d.pod = pod = die(f);
	fake_api_turn(&f->bed.api, is_heard, &d);
	return pod;
}

static void a_death_that_no_sidecar_saw_waits_for_what_the_node_kept(void **state)
{
	struct fixture *f = *state;
	struct death d = { .f = f };
	_cleanup_json_ cJSON *pod = NULL;

	f->answer = UNMET("false", "");
	d.pod = pod = die(f);
	fake_api_turn(&f->bed.api, is_asked_twice, f);
	assert_false(is_heard(&d));
	/*
	 * The sidecar may have said it before the pod showed the death, so its whole answer is
	 * asked for.
	 */
	assert_string_equal(f->tag, "");
	/* Of what the agent kept, the sidecar has read a part. */
	f->answer = UNMET("false", DEAD_END("likely"));
	f->asked = 0;
	fake_api_turn(&f->bed.api, is_asked_twice, f);
	assert_false(is_heard(&d));
	f->answer = UNMET("false", DEAD_END("certain"));
	fake_api_turn(&f->bed.api, is_heard, &d);
	/* The pod's next state does not replace what the node saw. */
	failure_writer_see(f->bed.writer, pod, false);
	assert_true(is_heard(&d));
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
}

static void a_likely_end_is_heard_when_the_sidecar_expects_no_more(void **state)
{
	struct fixture *f = *state;
	_cleanup_json_ cJSON *pod = die_and_be_heard(f, UNMET("true", DEAD_END("likely")));

	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
}

/* Returns whether the only failure that waits is what the node saw. */
static bool is_from_node(const struct fixture *f)
{
	struct strmap_pos pos = { 0 };
	void *value = NULL;

	assert_true(strmap_next(&f->bed.writer->pending.all, &pos, NULL, &value));
	return ((const struct pending_failure *)value)->failure->from_node;
}

static void the_end_of_the_pod_does_not_replace_what_the_node_saw(void **state)
{
	struct fixture *f = *state;
	_cleanup_json_ cJSON *pod = die_and_be_heard(f, UNMET("true", DEAD_END("likely")));

	assert_true(is_from_node(f));
	json_set_str(json_get(pod, "status"), "phase", "Failed");
	failure_writer_see(f->bed.writer, pod, false);
	assert_true(is_from_node(f));
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
}

static void an_eviction_replaces_what_the_node_saw(void **state)
{
	struct fixture *f = *state;
	_cleanup_json_ cJSON *pod = die_and_be_heard(f, UNMET("true", DEAD_END("likely")));

	json_set_str(json_get(pod, "status"), "phase", "Failed");
	json_set_str(json_get(pod, "status"), "reason", "Evicted");
	failure_writer_see(f->bed.writer, pod, false);
	assert_false(is_from_node(f));
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
}

static void a_death_of_which_the_node_kept_nothing_waits_no_longer(void **state)
{
	struct fixture *f = *state;
	_cleanup_json_ cJSON *pod = die_and_be_heard(f, UNMET("true", ""));

	failure_writer_see(f->bed.writer, pod, false);
	assert_false(failure_writer_awaits_sidecar(f->bed.writer, pod));
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
}

static bool is_asked_four_times(void *arg)
{
	return ((struct fixture *)arg)->asked >= 4;
}

static void a_sidecar_that_is_asked_each_second_for_a_death_is_not_called_unreachable_so_soon(void **state)
{
	struct fixture *f = *state;
	_cleanup_json_ cJSON *pod = NULL;
	bool heard = true;

	f->answer = NULL;
	pod = die(f);
	fake_api_turn(&f->bed.api, is_asked_four_times, f);
	assert_true(failure_writer_awaits_sidecar(f->bed.writer, pod));
	sidecar_poller_growing(f->bed.poller, "ml/w", &heard);
	assert_false(heard);
}

static void set_time(cJSON *json, const char *name, int seconds_ago)
{
	char text[TIME_TEXT_MAX];

	json_set_str(json, name, time_format(now_realtime_ns() - seconds_ago * NS_PER_SEC, text));
}

/* The pod w, of whose container the status has forgotten two ends. */
static void list_restarted_pod(struct fixture *f)
{
	_cleanup_json_ cJSON *pod = pod_of(f, 3),
			     *end = cJSON_Parse("{\"terminated\":{\"exitCode\":1}}");
	cJSON *statuses = json_get(pod, "status.containerStatuses"),
	      *ray = cJSON_GetArrayItem(statuses, 0);
	_cleanup_free_ char *text = NULL;

	set_time(json_get(pod, "metadata"), "creationTimestamp", 1000);
	set_time(json_get(cJSON_GetArrayItem(statuses, 1), "state.running"), "startedAt", 990);
	set_time(json_get(end, "terminated"), "startedAt", 300);
	set_time(json_get(end, "terminated"), "finishedAt", 200);
	set_time(json_get(ray, "state.running"), "startedAt", 200);
	json_set(ray, "lastState", cJSON_Duplicate(end, true));
	text = cJSON_PrintUnformatted(pod);
	fake_api_lists(&f->bed.api, "/pods", text);
	bed_start(&f->bed);
}

/* As many RayFailures wait to be written as a namespace may have. */
static void fill_namespace(struct fixture *f)
{
	for (int i = 0; i < PENDING_NAMESPACE_MAX; i++) {
		struct ray_failure *failure = ray_failure_new();
		char name[32];

		snprintf(name, sizeof(name), "full-%d", i);
		ray_failure_set(&failure->namespace, "ml");
		ray_failure_set(&failure->name, name);
		assert_true(failure_writer_add(f->bed.writer, failure));
	}
}

/* The pod is asked again after each answer. */
static bool is_full_again(void *arg)
{
	struct fixture *f = arg;

	if (f->asked) {
		f->restarts++;
		f->asked = 0;
		stir(f, f->restarts);
	}
	return failure_writer_n_pending(f->bed.writer) == PENDING_NAMESPACE_MAX;
}

static void ends_that_only_the_restart_count_shows_are_found_again_when_there_was_no_room(void **state)
{
	struct fixture *f = *state;

	f->answer = ANSWER("1-1", "");
	list_restarted_pod(f);
	fill_namespace(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, is_asked_once, f);
	fake_api_idle(&f->bed.api);
	failure_writer_written(f->bed.writer, "ml/full-0");
	assert_int_equal(failure_writer_n_pending(f->bed.writer), PENDING_NAMESPACE_MAX - 1);
	f->restarts = 1;
	fake_api_turn(&f->bed.api, is_full_again, f);
}

static void an_answer_of_another_pod_is_not_believed(void **state)
{
	struct fixture *f = *state;

	f->answer = "{\"podUID\":\"another\",\"tag\":\"1-1\",\"failures\":[" FAILURE(
		"a", "WorkerCrash") "]}";
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, is_asked_once, f);
	fake_api_idle(&f->bed.api);
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 0);
}

static bool has_event(void *arg)
{
	return strstr(strbuf_str(&((struct fixture *)arg)->bed.api.bodies), "SidecarUnreachable");
}

static void a_sidecar_that_does_not_answer_three_times_is_an_event_of_its_pod(void **state)
{
	struct fixture *f = *state;
	bool heard = true;

	f->answer = NULL;
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, is_asked_once, f);
	fake_api_idle(&f->bed.api);
	sidecar_poller_growing(f->bed.poller, "ml/w", &heard);
	assert_false(heard);
	for (int i = 2; i <= 3; i++) {
		ask_again(f, i);
		fake_api_idle(&f->bed.api);
	}
	fake_api_turn(&f->bed.api, has_event, f);
	sidecar_poller_growing(f->bed.poller, "ml/w", &heard);
	assert_true(heard);
}

static void a_pod_that_is_gone_or_whose_sidecar_does_not_run_is_not_asked(void **state)
{
	struct fixture *f = *state;
	_cleanup_json_ cJSON *gone = NULL, *stopped = NULL;

	f->answer = ANSWER("1-1", "");
	start(f);
	stir(f, 1);
	gone = pod_of(f, 1);
	sidecar_poller_see(f->bed.poller, gone, true);
	stopped = pod_of(f, 2);
	json_set_str(json_get(stopped, "metadata"), "name", "other");
	cJSON_DeleteItemFromObject(
		cJSON_GetArrayItem(json_get(stopped, "status.containerStatuses"), 1), "state");
	sidecar_poller_see(f->bed.poller, stopped, false);
	fake_api_idle(&f->bed.api);
	run_ticks(f);
	assert_int_equal(f->asked, 0);
}

static void a_standby_asks_nobody(void **state)
{
	struct fixture *f = *state;

	f->answer = ANSWER("1-1", "");
	start(f);
	f->bed.allowed = false;
	stir(f, 1);
	run_ticks(f);
	assert_int_equal(f->asked, 0);
	f->bed.allowed = true;
	fake_api_turn(&f->bed.api, is_asked_once, f);
}

static bool has_event_of_driver(void *arg)
{
	const char *bodies = strbuf_str(&((struct fixture *)arg)->bed.api.bodies);

	return strstr(bodies, "\"DriverWaits\"") && strstr(bodies, "\"A driver waits in Ray, a.\"");
}

static void a_driver_that_waits_is_an_event_of_its_pod(void **state)
{
	struct fixture *f = *state;

	f->answer =
		"{\"podUID\":\"u-w\",\"tag\":\"7-7\",\"failures\":[],\"warnings\":[{\"kind\":\"DriverWaits\",\"container\":\"ray-worker\","
		"\"sentence\":\"A driver waits in Ray, a.\"}]}";
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, has_event_of_driver, f);
}

static bool is_growing(void *arg)
{
	bool heard;
	const struct growing *growing =
		sidecar_poller_growing(((struct fixture *)arg)->bed.poller, "ml/w", &heard);

	return growing && growing->n == 1;
}

static bool is_not_growing(void *arg)
{
	return !is_growing(arg);
}

static void memory_that_grows_is_known_until_the_sidecar_says_that_it_does_not(void **state)
{
	struct fixture *f = *state;

	f->answer =
		"{\"podUID\":\"u-w\",\"tag\":\"7-7\",\"failures\":[],\"warnings\":[{\"kind\":\"MemoryGrowing\",\"container\":\"ray-worker\","
		"\"process\":\"gcs_server\",\"bytes\":1895825408,\"growthBytesPerHour\":20971520,\"grewSeconds\":14400,"
		"\"limitBytes\":2147483648,\"secondsLeft\":43200,\"sentence\":\"Memory grows.\"}]}";
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, is_growing, f);
	assert_int_equal(f->bed.growing, 1);
	f->answer = ANSWER("8-8", "");
	stir(f, 2);
	fake_api_turn(&f->bed.api, is_not_growing, f);
	assert_int_equal(f->bed.growing, 2);
}

#define CLUSTER \
	"{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"ml\",\"uid\":\"u-c\"," \
	"\"resourceVersion\":\"7\",\"annotations\":{\"afterglow.dev/memory-safety\":" \
	"\"{\\\"head\\\":{\\\"set\\\":{\\\"rayStartParams.num-cpus\\\":\\\"0\\\"}}}\"}}}"

static bool has_event_of_request(void *arg)
{
	return strstr(strbuf_str(&((struct fixture *)arg)->bed.api.bodies),
		      "num-cpus \\\"0\\\" of the head") != NULL;
}

#define INFEASIBLE(tag, request) \
	"{\"podUID\":\"u-w\",\"tag\":\"" tag "\",\"failures\":[],\"warnings\":[{\"kind\":\"RequestInfeasible\"," \
	"\"container\":\"ray-worker\",\"request\":\"" request "\"}]}"

static void a_request_that_no_node_can_have_is_an_event_of_its_cluster(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->bed.api, "/rayclusters", CLUSTER);
	/* Memory safety has no part in the first one. */
	f->answer = INFEASIBLE("8-8", "{'GPU': 1.0}");
	start(f);
	stir(f, 1);
	fake_api_turn(&f->bed.api, is_asked_once, f);
	run_ticks(f);
	f->answer = INFEASIBLE("9-9", "{'CPU': 1.0}");
	stir(f, 2);
	fake_api_turn(&f->bed.api, has_event_of_request, f);
	assert_non_null(strstr(strbuf_str(&f->bed.api.bodies), "\"kind\":\"RayCluster\""));
}

/*
 * --- Sidecars that never answer
 * -------------------------------------------------------------------------
 */

#define PLACES_EACH 32 /* with four ticks a second enough for the pace of poll_pace.h */

struct silent {
	struct evhttp *http;
	unsigned held, most; /* questions without an answer; the most at a time */
};

static void on_hung_up(struct evhttp_connection *connection, void *arg)
{
	(void)connection;
	((struct silent *)arg)->held--;
}

static void on_silence(struct evhttp_request *request, void *arg)
{
	struct silent *silent = arg;

	silent->held++;
	silent->most = MAX(silent->most, silent->held);
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_hung_up, silent);
}

static bool has_its_places(void *arg)
{
	return ((const struct silent *)arg)->held >= PLACES_EACH;
}

static cJSON *hostile_pod(const struct fixture *f, int i, int restarts, uint16_t port)
{
	cJSON *pod = pod_of(f, restarts), *metadata = json_get(pod, "metadata");
	cJSON *container = cJSON_GetArrayItem(json_get(pod, "spec.containers"), 1);
	char name[32];

	snprintf(name, sizeof(name), "w-%d", i);
	json_set_str(metadata, "namespace", "hostile");
	json_set_str(metadata, "name", name);
	json_set_str(metadata, "uid", name);
	cJSON_SetIntValue(
		json_get(cJSON_GetArrayItem(json_get(container, "ports"), 0), "containerPort"),
		port);
	return pod;
}

#define HOSTILE_PODS 40

/* The API server lists them, and the pod w. */
static void list_pods(struct fixture *f, uint16_t port)
{
	_cleanup_strbuf_ struct strbuf items = STRBUF_INIT(1 << 15);

	for (int i = -1; i < HOSTILE_PODS; i++) {
		_cleanup_json_ cJSON *pod = i < 0 ? pod_of(f, 0) : hostile_pod(f, i, 0, port);
		_cleanup_free_ char *text = cJSON_PrintUnformatted(pod);

		strbuf_addf(&items, "%s%s", i < 0 ? "" : ",", text);
	}
	fake_api_lists(&f->bed.api, "/pods", strbuf_str(&items));
}

static void stir_hostile_pods(struct fixture *f, uint16_t port)
{
	for (int i = 0; i < HOSTILE_PODS; i++) {
		_cleanup_json_ cJSON *pod = hostile_pod(f, i, 1, port);

		sidecar_poller_see(f->bed.poller, pod, false);
	}
}

static void sidecars_of_one_namespace_that_never_answer_leave_places_for_the_others(void **state)
{
	struct fixture *f = *state;
	struct silent silent = { .http = evhttp_new(f->bed.api.server.base) };
	uint16_t port = serve(silent.http, on_silence, &silent);

	f->answer = ANSWER("1-1", "");
	list_pods(f, port);
	bed_start(&f->bed);
	stir_hostile_pods(f, port);
	fake_api_turn(&f->bed.api, has_its_places, &silent);
	for (int i = 1; i <= 3; i++)
		ask_again(f, i);
	run_ticks(f);
	assert_int_equal(silent.most, PLACES_EACH);
	evhttp_free(silent.http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_that_died_becomes_a_failure_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_pod_that_tells_of_more_failures_than_it_may_is_asked_again_without_a_tag,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_death_that_no_sidecar_saw_waits_for_what_the_node_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_likely_end_is_heard_when_the_sidecar_expects_no_more, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_end_of_the_pod_does_not_replace_what_the_node_saw, setup, teardown),
		cmocka_unit_test_setup_teardown(an_eviction_replaces_what_the_node_saw, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_death_of_which_the_node_kept_nothing_waits_no_longer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_is_asked_each_second_for_a_death_is_not_called_unreachable_so_soon,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			ends_that_only_the_restart_count_shows_are_found_again_when_there_was_no_room,
			setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_of_another_pod_is_not_believed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_request_that_no_node_can_have_is_an_event_of_its_cluster, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_does_not_answer_three_times_is_an_event_of_its_pod, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_pod_that_is_gone_or_whose_sidecar_does_not_run_is_not_asked, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_standby_asks_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(
			sidecars_of_one_namespace_that_never_answer_leave_places_for_the_others,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			memory_that_grows_is_known_until_the_sidecar_says_that_it_does_not, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_driver_that_waits_is_an_event_of_its_pod, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
