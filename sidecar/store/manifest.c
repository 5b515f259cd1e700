/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes MANIFEST.json, which lists each file of a bundle with its size and SHA-256. */
#include "sidecar/store/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"

#define FILE_MODE 0640
#define LOCK_PAUSE_NS (10 * NS_PER_MS)

void manifest_lock(int dirfd, int64_t within_ns)
{
	for (int64_t i = 0; i < within_ns / LOCK_PAUSE_NS && flock(dirfd, LOCK_EX | LOCK_NB) < 0 &&
			    (errno == EWOULDBLOCK || errno == EINTR);
	     i++)
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
}

cJSON *manifest_new(cJSON **ret_files)
{
	cJSON *manifest = cJSON_CreateObject();

	json_set_str(manifest, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(manifest, "kind", "Manifest");
	*ret_files = json_array_at(manifest, "files");
	if (cJSON_GetArraySize(manifest) == 3)
		return manifest;
	cJSON_Delete(manifest);
	return NULL;
}

int manifest_describe(cJSON *files, const char *file, size_t len, const char *sha256,
		      struct err *err)
{
	cJSON *json = json_named_new(file);

	json_set_int(json, "sizeBytes", (int64_t)len);
	json_set_str(json, "sha256", sha256);
	/*
	 * A manifest that leaves out a file, or what is known of it, would call the bundle
	 * complete.
	 */
	if (cJSON_GetArraySize(json) != 3 || !cJSON_AddItemToArray(files, json)) {
		cJSON_Delete(json);
		return err_set(err, ENOMEM, "%s: manifest", file);
	}
	return 0;
}

int manifest_write(const cJSON *manifest, int dirfd, const char *as, struct err *err)
{
	_cleanup_free_ char *text = cJSON_Print(manifest);

	if (!text)
		return err_set(err, ENOMEM, "%s", as);
	return file_put(dirfd, as, text, strlen(text), FILE_MODE, err);
}

int manifest_read(int dirfd, cJSON **ret_manifest, cJSON **ret_files, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(MANIFEST_MAX);
	_cleanup_json_ cJSON *manifest = NULL;

	if (file_read_foreign(dirfd, MANIFEST_FILE, &text, err) < 0)
		return -err->code;
	if (json_parse(strbuf_str(&text), text.len, &manifest, err) < 0)
		return err_wrap(err, MANIFEST_FILE);
	cJSON *files = json_get(manifest, "files");
	if (!cJSON_IsArray(files))
		return err_set(err, EPROTO, MANIFEST_FILE " lists no files");
	*ret_files = files;
	*ret_manifest = TAKE_PTR(manifest);
	return 0;
}
