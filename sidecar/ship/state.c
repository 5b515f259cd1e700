/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state file, which is not trusted, and replaces it as a whole. */
#include "sidecar/ship/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"

#define STATE_TEMPORARY STATE_FILE ".new"

static cJSON *state_load(int dir_fd, const char *store)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STATE_MAX);
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_close_ int fd =
		openat(dir_fd, STATE_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || fd_read_all(fd, &text, NULL) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &json, NULL) < 0)
		return NULL;
	const char *its_store = json_str(json, "store");
	if (!its_store || strcmp(its_store, store) != 0)
		return NULL;
	return TAKE_PTR(json);
}

int state_open(int dir_fd, const char *store, struct state *ret_state, struct err *err)
{
	cJSON *json = state_load(dir_fd, store);

	if (!json) {
		json = cJSON_CreateObject();
		if (!json)
			return err_set(err, ENOMEM, STATE_FILE);
		json_set_str(json, "store", store);
	}
	*ret_state = (struct state){ .dir_fd = dir_fd, .json = json };
	return 0;
}

void state_release(struct state *s)
{
	cJSON_Delete(s->json);
	s->json = NULL;
}

/* json_get cannot be used, because names of files have dots. */
bool state_was_sent(const struct state *s, const char *name, const char *sha256)
{
	const cJSON *sent = cJSON_GetObjectItemCaseSensitive(s->json, "sent");
	const char *digest = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(sent, name));

	return digest && strcmp(digest, sha256) == 0;
}

void state_set_sent(struct state *s, const char *name, const char *sha256)
{
	cJSON *sent = json_object_at(s->json, "sent");

	if (sent)
		json_set_str(sent, name, sha256);
}

bool state_upload(const struct state *s, const char *name, const char *sha256,
		  struct upload *ret_upload)
{
	const char *file = json_str(s->json, "upload.file"),
		   *digest = json_str(s->json, "upload.sha256");
	const char *id = json_str(s->json, "upload.id");
	int64_t part = json_int(s->json, "upload.partBytes", 0);

	if (!file || !digest || !id || strcmp(file, name) != 0 || strcmp(digest, sha256) != 0)
		return false;
	if (!*id || strlen(id) >= sizeof(ret_upload->id) || part <= 0)
		return false;
	snprintf(ret_upload->id, sizeof(ret_upload->id), "%s", id);
	ret_upload->part = part;
	ret_upload->sha256 = cJSON_IsTrue(json_get(s->json, "upload.sha256Parts"));
	return true;
}

void state_set_upload(struct state *s, const char *name, const char *sha256,
		      const struct upload *upload)
{
	cJSON *json = json_object_at(s->json, "upload");

	if (!json)
		return;
	json_set_str(json, "file", name);
	json_set_str(json, "sha256", sha256);
	json_set_str(json, "id", upload->id);
	json_set_int(json, "partBytes", upload->part);
	json_set(json, "sha256Parts", cJSON_CreateBool(upload->sha256));
	cJSON_DeleteItemFromObjectCaseSensitive(json, "damaged");
}

bool state_has_upload(const struct state *s, const char *name)
{
	return json_is(s->json, "upload.file", name);
}

void state_clear_upload(struct state *s)
{
	cJSON_DeleteItemFromObjectCaseSensitive(s->json, "upload");
}

void state_set_damaged(struct state *s, const char *name, const char *sha256)
{
	state_set_upload(s, name, sha256, &(struct upload){ .part = 0 });
	cJSON *json = json_object_at(s->json, "upload");
	if (json)
		cJSON_AddBoolToObject(json, "damaged", true);
}

bool state_was_damaged(const struct state *s, const char *name, const char *sha256)
{
	return state_has_upload(s, name) && json_is(s->json, "upload.sha256", sha256) &&
	       json_bool(s->json, "upload.damaged", false);
}

int state_save(const struct state *s, struct err *err)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(s->json);

	if (!text)
		return err_set(err, ENOMEM, STATE_FILE);
	/*
	 * The file is not synced to disk, because that would take longer than sending most files.
	 * SIGKILL loses nothing; a power failure may lose the hint.
	 */
	int r = file_put(s->dir_fd, STATE_TEMPORARY, text, strlen(text), 0600, err);
	if (r == 0 && renameat(s->dir_fd, STATE_TEMPORARY, s->dir_fd, STATE_FILE) < 0)
		r = err_set(err, errno, "rename to %s", STATE_FILE);
	if (r < 0)
		unlinkat(s->dir_fd, STATE_TEMPORARY, 0);
	return r;
}
