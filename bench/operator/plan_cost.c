/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_cost [PODS...]: what one plan of a RayCluster costs, by the number of its pods (1000 5000
 * 20000) and by what there is to do. Each line has milliseconds, microseconds a pod, and the cost
 * of a pod relative to the smallest cluster. That ratio is 1.0 where the cost is linear. It goes up
 * to 3 all the same, because 1,000 pods fit into the processor's cache and more do not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/plan.h"
#include "operator/raycluster/validate.h"

#define ROUNDS 3
#define GROUPS 100 /* of the cluster with many groups */

struct scene {
	cJSON *cluster;
	cJSON **pods;
	bool *pending;
	size_t n;
	struct policy policy;
};

static cJSON *parse(const char *text)
{
	struct err err = { 0 };
	cJSON *json = NULL;

	if (json_parse(text, strlen(text), &json, &err) < 0) {
		fprintf(stderr, "%s\n", err_text(&err));
		exit(1);
	}
	return json;
}

#define CONTAINER(name) \
	"{\"spec\":{\"containers\":[{\"name\":\"" name \
	"\",\"image\":\"ray\",\"resources\":{\"limits\":{\"cpu\":\"1\"," \
	"\"memory\":\"4Gi\"}}}]}}"

static cJSON *cluster_of(int groups)
{
	cJSON *cluster = parse(
		"{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"ns\","
		"\"uid\":\"u\",\"generation\":1},\"spec\":{\"rayVersion\":\"2.46.0\",\"headGroupSpec\":{\"rayStartParams\":{},"
		"\"template\":" CONTAINER("ray-head") "},\"workerGroupSpecs\":[]}}");

	for (int i = 0; i < groups; i++) {
		cJSON *group =
			parse("{\"rayStartParams\":{},\"template\":" CONTAINER("ray-worker") "}");
		char name[32];

		snprintf(name, sizeof(name), "g%d", i);
		json_set_str(group, "groupName", name);
		json_append(json_get(cluster, "spec.workerGroupSpecs"), group);
	}
	return cluster;
}

/* As the operator makes it, with the labels that planning reads. */
static cJSON *pod_of(size_t n, int groups, int64_t hosts)
{
	cJSON *pod = parse(
		"{\"metadata\":{\"namespace\":\"ns\",\"ownerReferences\":[{\"controller\":true,\"uid\":\"u\"}],"
		"\"creationTimestamp\":\"2026-11-21T01:00:00Z\",\"labels\":{\"ray.io/cluster\":\"demo\",\"ray.io/node-type\":\"worker\",\"ray.io/is-ray-node\":\"yes\"}},"
		"\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"ray-worker\"}]},\"status\":{\"phase\":\"Running\","
		"\"containerStatuses\":[{\"name\":\"ray-worker\",\"ready\":true,\"state\":{\"running\":{}}}]}}");
	cJSON *metadata = json_get(pod, "metadata"), *labels = json_get(pod, "metadata.labels");
	char text[64];

	snprintf(text, sizeof(text), "demo-worker-%zu", n);
	json_set_str(metadata, "name", text);
	json_set_str(metadata, "uid", text);
	snprintf(text, sizeof(text), "g%d", (int)(n % (size_t)groups));
	json_set_str(labels, "ray.io/group", text);
	snprintf(text, sizeof(text), "%zu", n / (size_t)groups / (size_t)hosts);
	json_set_str(labels, "ray.io/worker-group-replica-index", text);
	snprintf(text, sizeof(text), "r%zu", n / (size_t)hosts);
	json_set_str(labels, "ray.io/worker-group-replica-name", text);
	snprintf(text, sizeof(text), "%zu", n % (size_t)hosts);
	json_set_str(labels, "ray.io/replica-host-index", text);
	return pod;
}

static void set_groups(cJSON *cluster, int64_t replicas, int64_t hosts)
{
	cJSON *group;

	cJSON_ArrayForEach(group, json_get(cluster, "spec.workerGroupSpecs")) {
		json_set_int(group, "replicas", replicas);
		json_set_int(group, "numOfHosts", hosts);
	}
}

static void scene_init(struct scene *scene, size_t pods, int groups, int64_t hosts)
{
	struct err err = { 0 };

	*scene = (struct scene){ .cluster = cluster_of(groups), .n = pods };
	scene->pods = calloc(pods, sizeof(*scene->pods));
	scene->pending = calloc(pods, sizeof(*scene->pending));
	if (!scene->pods || !scene->pending || policy_init(&scene->policy, &err) < 0)
		exit(1);
	for (size_t i = 0; i < pods; i++)
		scene->pods[i] = pod_of(i, groups, hosts);
	set_groups(scene->cluster, (int64_t)pods / groups / hosts, hosts);
}

static void scene_release(struct scene *scene)
{
	for (size_t i = 0; i < scene->n; i++)
		cJSON_Delete(scene->pods[i]);
	free(scene->pods);
	free(scene->pending);
	cJSON_Delete(scene->cluster);
	policy_release(&scene->policy);
}

/* Seconds of the fastest of some plans. */
static double measure(const struct scene *scene, size_t *ret_ops)
{
	struct plan_input in = { .cluster = scene->cluster,
				 .pods = (const cJSON *const *)scene->pods,
				 .n_pods = scene->n,
				 .policy = &scene->policy,
				 .now_ns = now_realtime_ns(),
				 .evidence_pending = scene->pending };
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct err err = { 0 };
		struct plan plan = { 0 };
		clock_t began = clock(); /* of CPU: other programs may run beside */
		cJSON *notes = cJSON_CreateArray();

		in.notes = notes;
		validate_cluster(in.cluster, notes);
		if (plan_cluster(&in, &plan, &err) < 0) {
			fprintf(stderr, "%s\n", err_text(&err));
			exit(1);
		}
		double took = (double)(clock() - began) / CLOCKS_PER_SEC;
		*ret_ops = plan.n_ops;
		best = i == 0 || took < best ? took : best;
		plan_release(&plan);
		cJSON_Delete(notes);
	}
	return best;
}

static void nothing(struct scene *scene)
{
	(void)scene;
}

static void to_zero(struct scene *scene)
{
	set_groups(scene->cluster, 0, 1);
}

static void half(struct scene *scene)
{
	cJSON *group = cJSON_GetArrayItem(json_get(scene->cluster, "spec.workerGroupSpecs"), 0);

	json_set_int(group, "replicas", json_int(group, "replicas", 0) / 2);
}

static void more(struct scene *scene)
{
	for (size_t i = scene->n / 2; i < scene->n; i++)
		cJSON_Delete(scene->pods[i]);
	scene->n /= 2;
}

static void all_dead(struct scene *scene)
{
	for (size_t i = 0; i < scene->n; i++) {
		json_set_str(json_get(scene->pods[i], "status"), "phase", "Failed");
		scene->pending[i] = true;
	}
}

/* As many groups, and nearly as many values, as a spec may have. */
static void largest(struct scene *scene)
{
	cJSON *group;

	cJSON_ArrayForEach(group, json_get(scene->cluster, "spec.workerGroupSpecs")) {
		cJSON *env = json_array_at(
			cJSON_GetArrayItem(json_get(group, "template.spec.containers"), 0), "env");

		for (int i = 0; i < 25; i++) {
			cJSON *item = cJSON_CreateObject();
			char name[32];

			snprintf(name, sizeof(name), "NAME_%d", i);
			json_set_str(item, "name", name);
			json_set_str(item, "value", "value");
			json_append(env, item);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *words;
		void (*prepare)(struct scene *scene);
		int groups;
		int64_t hosts;
	} scenes[] = {
		{ "nothing to do", nothing, 1, 1 },
		{ "nothing to do, 100 groups", nothing, GROUPS, 1 },
		{ "scaled to zero", to_zero, 1, 1 },
		{ "half of it still to be made", more, 1, 1 },
		{ "all dead, their failures unwritten", all_dead, 1, 1 },
		{ "the largest spec, 500 groups", largest, BOUND_GROUPS, 1 },
		{ "replicas of 4 hosts", nothing, 1, 4 },
		{ "replicas of 4 hosts, half too many", half, 1, 4 },
	};
	static const char *const usual[] = { "1000", "5000", "20000" };
	const char *const *sizes = argc > 1 ? (const char *const *)argv + 1 : usual;
	size_t n_sizes = argc > 1 ? (size_t)argc - 1 : ARRAY_SIZE(usual);

	for (size_t s = 0; s < ARRAY_SIZE(scenes); s++) {
		double least = 0;

		for (size_t i = 0; i < n_sizes; i++) {
			size_t pods = strtoul(sizes[i], NULL, 10), ops = 0;
			struct scene scene;

			scene_init(&scene, pods, scenes[s].groups, scenes[s].hosts);
			scenes[s].prepare(&scene);
			double took = measure(&scene, &ops), each = took / (double)pods;
			least = i == 0 ? each : least;
			printf("plan: %s: %zu pods: %.1f ms, %.2f us a pod, ratio %.2f (%zu operations)\n",
			       scenes[s].words, pods, 1e3 * took, 1e6 * each, each / least, ops);
			scene_release(&scene);
		}
	}
	return 0;
}
