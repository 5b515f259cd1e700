/* SPDX-License-Identifier: Apache-2.0 */
/* Sets liveness and readiness probes of a Ray container. */
#include "operator/raycluster/probes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/raycluster/start_params.h"

#define AGENT_PORT 52365
#define DASHBOARD_PORT 8265
#define AGENT_TIMEOUT_S 2
#define DASHBOARD_TIMEOUT_S 10

static bool has_healthz(const char *ray_version)
{
	char *end;

	if (!ray_version)
		return false;
	long major = strtol(ray_version, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major > 2 || (major == 2 && minor >= 53);
}

static void add_wget(struct strbuf *sb, int timeout, int64_t port, const char *path)
{
	strbuf_addf(sb,
		    "%swget --tries 1 -T %d -q -O- http://localhost:%" PRId64 "/%s | grep success",
		    sb->len ? " && " : "", timeout, port, path);
}

static void add_exec(cJSON *probe, const cJSON *params, enum ray_node node)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1024);
	const char *dashboard = json_member(params, "include-dashboard");

	add_wget(&sb, AGENT_TIMEOUT_S,
		 start_param_port(params, "dashboard-agent-listen-port", AGENT_PORT),
		 "api/local_raylet_healthz");
	if (node == RAY_HEAD && !(dashboard && strcmp(dashboard, "false") == 0))
		add_wget(&sb, DASHBOARD_TIMEOUT_S,
			 start_param_port(params, "dashboard-port", DASHBOARD_PORT),
			 "api/gcs_healthz");
	const char *const command[] = { "bash", "-c", strbuf_str(&sb) };
	json_set(json_object_at(probe, "exec"), "command", cJSON_CreateStringArray(command, 3));
}

static void add_probe(cJSON *container, const char *name, const cJSON *params, enum ray_node node,
		      const char *ray_version, int initial_delay, int failures)
{
	int timeout = node == RAY_HEAD ? 5 : 2;

	if (cJSON_IsObject(json_get(container, name)))
		return;
	cJSON *probe = cJSON_CreateObject();
	if (has_healthz(ray_version)) {
		cJSON *get = json_object_at(probe, "httpGet");

		json_set_str(get, "path", "/api/healthz");
		json_set_int(get, "port",
			     start_param_port(params, "dashboard-agent-listen-port", AGENT_PORT));
	} else {
		add_exec(probe, params, node);
	}
	json_set_int(probe, "initialDelaySeconds", initial_delay);
	json_set_int(probe, "timeoutSeconds", timeout);
	json_set_int(probe, "periodSeconds", 5);
	json_set_int(probe, "failureThreshold", failures);
	json_set(container, name, probe);
}

void probes_add(cJSON *container, const cJSON *params, enum ray_node node, const char *ray_version)
{
	add_probe(container, "livenessProbe", params, node, ray_version, 30, 120);
	add_probe(container, "readinessProbe", params, node, ray_version, 10, 10);
}
