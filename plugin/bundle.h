/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl afterglow bundle: copies a bundle from its store to a directory, by a short-lived pod. */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "plugin/kubectl.h"

/*
 * Makes the directory, or takes an empty one, writes the bundle into it and prints on stderr what
 * it does. failure is a RayFailure; pods is a List of the Ray pods of its namespace; image is the
 * sidecar's image, or NULL (reader_pod.h). The pod is deleted also after an error or a signal
 * (-EINTR); if that fails, it ends by itself within an hour. Files that were written stay.
 */
int bundle_save(const struct kubectl *kubectl, const cJSON *failure, const cJSON *pods,
		const char *image, const char *directory, struct err *err);

/*
 * Appends the file `name` of the bundle to content, in the same way. Returns -ENODATA if the bundle
 * has no such file, -EFBIG if it is larger than the ceiling of content.
 */
int bundle_read(const struct kubectl *kubectl, const cJSON *failure, const cJSON *pods,
		const char *image, const char *name, struct strbuf *content, struct err *err);
