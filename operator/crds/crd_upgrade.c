/* SPDX-License-Identifier: Apache-2.0 */
/* Upgrades the CRDs for which a directory has files. */
#include "operator/crds/crd_upgrade.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "operator/crds/crd_plan.h"

struct answer {
	struct event_base *base;
	cJSON *object;
	struct err err;
};

static void crd_upgrade_on_answer(void *arg, struct client_response *response)
{
	struct answer *answer = arg;

	answer->object = TAKE_PTR(response->object);
	answer->err = response->err;
	event_base_loopbreak(answer->base);
}

/*
 * Waits for the answer to a request that was started with the result r. *ret_live is the CRD as the
 * API server has it.
 */
static int crd_upgrade_await(struct answer *answer, int r, cJSON **ret_live, struct err *err)
{
	if (r < 0)
		return r;
	if (event_base_dispatch(answer->base) < 0)
		return err_set(err, EIO, "event loop");
	_cleanup_json_ cJSON *object = answer->object;
	if (answer->err.code)
		*err = answer->err;
	else if (!cJSON_IsObject(object))
		return err_set(err, EPROTO, "the API server answered without an object");
	else
		*ret_live = TAKE_PTR(object);
	return -answer->err.code;
}

static int read_installed(struct event_base *base, struct client *client, const cJSON *wanted,
			  cJSON **ret_live, struct err *err)
{
	struct answer answer = { .base = base };
	int r = client_get(client, resource_of(wanted), NULL, json_str(wanted, "metadata.name"),
			   crd_upgrade_on_answer, &answer, err);

	return crd_upgrade_await(&answer, r, ret_live, err);
}

static int write_patch(struct event_base *base, struct client *client, const cJSON *patch,
		       cJSON **ret_live, struct err *err)
{
	struct answer answer = { .base = base };
	int r = client_merge(client, patch, crd_upgrade_on_answer, &answer, err);

	return crd_upgrade_await(&answer, r, ret_live, err);
}

/* A Job that was killed between both patches is repeated, and does it then. */
static int crd_upgrade_disown(struct event_base *base, struct client *client, const cJSON *live,
			      struct err *err)
{
	_cleanup_json_ cJSON *patch = NULL, *stored = NULL;
	int r = crd_disown(live, &patch);

	if (r < 0)
		return err_set(err, -r, "patch");
	return patch ? write_patch(base, client, patch, &stored, err) : 0;
}

static int crd_upgrade_one(struct event_base *base, struct client *client, const cJSON *wanted,
			   struct err *err)
{
	_cleanup_json_ cJSON *live = NULL, *patch = NULL, *stored = NULL;
	const char *name = json_str(wanted, "metadata.name"), *changed_by;
	int r = read_installed(base, client, wanted, &live, err);

	if (r < 0)
		return r;
	switch (crd_plan(live, wanted)) {
	case CRD_FOREIGN:
		log_warning(
			"CRD %s: left as it is, because the chart of Afterglow did not install it",
			name);
		return 0;
	case CRD_NEWER:
		log_warning("CRD %s: left as it is, because a newer version of Afterglow wrote it",
			    name);
		return 0;
	case CRD_EQUAL:
		log_info("CRD %s: it is up to date", name);
		return crd_upgrade_disown(base, client, live, err);
	case CRD_UPGRADE:
		break;
	}
	changed_by = crd_changed_by(live);
	patch = crd_patch(live, wanted);
	if (!patch)
		return err_set(err, ENOMEM, "patch");
	r = write_patch(base, client, patch, &stored, err);
	if (r < 0)
		return r;
	log_info("CRD %s: upgraded", name);
	if (changed_by)
		log_warning(
			"CRD %s: spec.versions is the chart's again; it had been changed by %.128s",
			name, changed_by);
	return crd_upgrade_disown(base, client, stored, err);
}

static int read_wanted(int dir, const char *file, cJSON **ret_crd, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CRD_FILE_MAX);
	_cleanup_json_ cJSON *crd = NULL;
	int r = file_read(dir, file, &text, err);

	if (r == 0)
		r = json_parse(strbuf_str(&text), text.len, &crd, err);
	if (r < 0)
		return r;
	if (!json_is(crd, "kind", "CustomResourceDefinition") || !resource_of(crd) ||
	    !json_str(crd, "metadata.name") || !cJSON_IsObject(json_get(crd, "spec.names")) ||
	    cJSON_GetArraySize(json_get(crd, "spec.versions")) == 0)
		return err_set(
			err, EINVAL,
			"it is no whole CustomResourceDefinition of apiextensions.k8s.io/v1");
	*ret_crd = TAKE_PTR(crd);
	return 0;
}

/* Returns whether the entry counts. A mounted ConfigMap has hidden entries of its own. */
static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int upgrade_file(struct event_base *base, struct client *client, int dir, const char *file,
			struct err *err)
{
	_cleanup_json_ cJSON *crd = NULL;
	int r = read_wanted(dir, file, &crd, err);

	if (r == 0)
		r = crd_upgrade_one(base, client, crd, err);
	return r < 0 ? err_wrap(err, "%s", file) : 0;
}

int crd_upgrade(struct event_base *base, struct client *client, const char *directory,
		struct err *err)
{
	_cleanup_close_ int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **files = NULL;
	int n = dir < 0 ? -1 : scandirat(dir, ".", &files, is_shown, alphasort);
	int r = n < 0 ? err_set(err, errno, "%s", directory) : 0;

	if (r == 0 && (n == 0 || n > CRD_FILES_MAX))
		r = err_set(err, EINVAL, "%s has %d files; it must have 1 to %d", directory, n,
			    CRD_FILES_MAX);
	for (int i = 0; i < n && r == 0; i++)
		r = upgrade_file(base, client, dir, files[i]->d_name, err);
	for (int i = 0; i < n; i++)
		free(files[i]);
	free(files);
	return r;
}
