/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the sidecar's metrics in Prometheus' text format 0.0.4. */
#include "sidecar/http/metrics.h"

#include <inttypes.h>

#include "lib/units.h"

enum metric {
#define METRIC(id, type, name, help) METRIC_##id,
#include "sidecar/http/metrics.def"
#undef METRIC
	METRIC_COUNT
};

static const struct {
	const char *type, *name, *help;
} table[] = {
#define METRIC(id, type, name, help) { type, name, help },
#include "sidecar/http/metrics.def"
#undef METRIC
};

/*
 * Launchers choose names. They were checked when they came, but a label has to stay valid whatever
 * a name contains.
 */
static void add_label_value(const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			strbuf_addc(out, '\\');
		if (*text == '\n')
			strbuf_adds(out, "\\n");
		else
			strbuf_addc(out, *text);
	}
}

static void metrics_add_container(enum metric m, const struct container_values *c, const char *more,
				  double value, struct strbuf *out)
{
	strbuf_addf(out, "%s{container=\"", table[m].name);
	add_label_value(c->name, out);
	strbuf_addf(out, "\"%s} %.17g\n", more, value);
}

/* Prints nothing if the number is unknown, because a missing series is true and a 0 is not. */
static void add_known(enum metric m, const struct container_values *c, const char *more,
		      int64_t value, struct strbuf *out)
{
	if (value >= 0)
		metrics_add_container(m, c, more, (double)value, out);
}

static void metrics_add_memory(const struct container_values *c, struct strbuf *out)
{
	const struct memory *m = &c->memory;

	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"usage\"", m->usage, out);
	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"working_set\"", memory_kubelet(m), out);
	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"anon\"", m->anon, out);
	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"file\"", m->file, out);
	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"shmem\"", m->shmem, out);
	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"kernel\"", m->kernel, out);
	add_known(METRIC_CONTAINER_MEMORY, c, ",kind=\"swap\"", m->swap, out);
}

static void add_task_peaks(enum metric m, const struct container_values *c, struct strbuf *out)
{
	for (unsigned int i = 0; c->tasks && i < c->tasks->n; i++) {
		const struct task_need *need = &c->tasks->list[i];

		if (!need->labelled)
			continue;
		strbuf_addf(out, "%s{container=\"", table[m].name);
		add_label_value(c->name, out);
		strbuf_adds(out, "\",task=\"");
		add_label_value(need->name, out);
		strbuf_addf(out, "\"} %" PRId64 "\n", need->peak);
	}
}

static void add_of_container(enum metric m, const struct container_values *c, struct strbuf *out)
{
	const struct memory *memory = &c->memory;

	switch (m) {
	case METRIC_CONTAINER_MEMORY:
		metrics_add_memory(c, out);
		break;
	case METRIC_CONTAINER_LIMIT:
		add_known(m, c, "", memory->limit, out);
		break;
	case METRIC_CONTAINER_HEADROOM:
		if (memory->limit >= 0 && memory->usage >= 0)
			add_known(m, c, "", MAX(memory->limit - memory->usage, (int64_t)0), out);
		break;
	case METRIC_CONTAINER_PEAK:
		add_known(m, c, "", memory->peak, out);
		break;
	case METRIC_CONTAINER_PROCESSES:
		if (c->samples)
			add_known(m, c, "", c->n_processes, out);
		break;
	case METRIC_CONTAINER_OOM_KILLS:
		add_known(m, c, "", memory->oom_kill, out);
		break;
	case METRIC_CONTAINER_SPILLED:
		add_known(m, c, "", c->spilled, out);
		break;
	case METRIC_CONTAINER_SPILL_LEFT:
		if (c->spill_left_ns >= 0)
			metrics_add_container(m, c, "",
					      (double)c->spill_left_ns / (double)NS_PER_SEC, out);
		break;
	case METRIC_CONTAINER_GROWTH:
		if (c->growth > 0)
			metrics_add_container(m, c, "", (double)c->growth / 3600, out);
		break;
	case METRIC_CONTAINER_FULL:
		if (c->growth > 0)
			metrics_add_container(m, c, "",
					      (double)c->growth_left_ns / (double)NS_PER_SEC, out);
		break;
	case METRIC_CONTAINER_TASK_PEAK:
		add_task_peaks(m, c, out);
		break;
	case METRIC_CONTAINER_SAMPLES:
		metrics_add_container(m, c, "", (double)c->samples, out);
		break;
	case METRIC_CONTAINER_DELAY:
		if (c->samples)
			metrics_add_container(m, c, "", (double)c->delay_ns / (double)NS_PER_SEC,
					      out);
		break;
	default:
		break;
	}
}

/* Prints all kinds from the start. Without a spool or store it prints nothing. */
static void add_of_store(enum metric m, const struct pod_values *v, struct strbuf *out)
{
	const char *name = table[m].name;
	bool spool = v->spool_bytes >= 0;

	if (m == METRIC_SPOOL_BUNDLES && spool)
		strbuf_addf(out, "%s %" PRId64 "\n", name, v->spool_bundles);
	if (m == METRIC_SPOOL_FAILING && spool)
		strbuf_addf(out, "%s %d\n", name, v->spool_failing);
	for (enum drop d = DROP_CORE; m == METRIC_SPOOL_DROPPED && spool && d < DROP_COUNT; d++)
		strbuf_addf(out, "%s{kind=\"%s\"} %" PRIu64 "\n", name, drop_name(d),
			    v->dropped[d]);
	if (m == METRIC_COUNTED)
		strbuf_addf(out, "%s %" PRIu64 "\n", name, v->counted);
	if (m == METRIC_SHIPPED && v->ships)
		strbuf_addf(out, "%s %" PRIu64 "\n", name, v->shipped);
	for (enum ship_kind k = 0; m == METRIC_SHIP_FAILED && v->ships && k < SHIP_KIND_COUNT; k++)
		strbuf_addf(out, "%s{kind=\"%s\"} %" PRIu64 "\n", name, ship_kind_name(k),
			    v->ship_failed[k]);
	if (m == METRIC_STORE_FAILING && v->ships)
		strbuf_addf(out, "%s %d\n", name, v->store_failing);
}

static void add_of_cores(enum metric m, const struct core_stats *s, struct strbuf *out)
{
	static const char *const drops[] = {
#define X(id, label) label,
		CORE_DROPS(X)
	}, *const results[] = {
		BACKTRACE_RESULTS(X)
#undef X
	};
	const char *name = table[m].name;

	if (m == METRIC_CORES)
		strbuf_addf(out, "%s %" PRIu64 "\n", name, s->captured);
	if (m == METRIC_CORES_PACKED)
		strbuf_addf(out, "%s %" PRIu64 "\n", name, s->packed);
	if (m == METRIC_CORES_PACKED_BYTES)
		strbuf_addf(out, "%s %" PRIu64 "\n", name, s->packed_bytes);
	for (size_t i = 0; m == METRIC_CORES_DROPPED && i < ARRAY_SIZE(drops); i++)
		strbuf_addf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", name, drops[i], s->dropped[i]);
	for (size_t i = 0; m == METRIC_BACKTRACES && i < ARRAY_SIZE(results); i++)
		strbuf_addf(out, "%s{result=\"%s\"} %" PRIu64 "\n", name, results[i],
			    s->backtraces[i]);
}

static void add_of_pod(enum metric m, const struct pod_values *v, struct strbuf *out)
{
	const char *name = table[m].name;

	switch (m) {
	case METRIC_BUILD:
		strbuf_addf(out, "%s{version=\"" AFTERGLOW_VERSION "\"} 1\n", name);
		break;
	case METRIC_CONTAINERS:
		strbuf_addf(out, "%s %zu\n", name, v->n_containers);
		break;
	case METRIC_FAILURES:
		/*
		 * Prints all classes from the start, so that the first failure of a class is an
		 * increase.
		 */
		for (int class = 0; class < FAILURE_CLASS_COUNT; class ++)
			strbuf_addf(out, "%s{class=\"%s\"} %" PRIu64 "\n", name,
				    failure_class_name((enum failure_class) class),
				    v->failures[class]);
		break;
	case METRIC_LAST_FAILURE:
		strbuf_addf(out, "%s %.3f\n", name,
			    (double)v->last_failure_unix_ns / (double)NS_PER_SEC);
		break;
	case METRIC_SPOOL:
		if (v->spool_bytes >= 0)
			strbuf_addf(out, "%s %" PRId64 "\n", name, v->spool_bytes);
		break;
	case METRIC_HEARTBEAT:
		strbuf_addf(out, "%s %.3f\n", name,
			    (double)v->heartbeat_age_ns / (double)NS_PER_SEC);
		break;
	case METRIC_LONGEST_PAUSE:
		strbuf_addf(out, "%s %.3f\n", name,
			    (double)v->longest_pause_ns / (double)NS_PER_SEC);
		break;
	case METRIC_OUTPUT_DROPPED:
		strbuf_addf(out, "%s %" PRIu64 "\n", name, v->output_dropped);
		break;
	default:
		add_of_store(m, v, out);
		if (v->takes_cores)
			add_of_cores(m, &v->cores, out);
		break;
	}
}

void metrics_render(const struct pod_values *v, struct strbuf *out)
{
	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", table[m].name, table[m].help,
			    table[m].name, table[m].type);
		add_of_pod(m, v, out);
		for (size_t i = 0; i < v->n_containers; i++)
			add_of_container(m, &v->containers[i], out);
	}
}
