/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl afterglow bundle: brings a bundle from its store to a directory, through a pod that is gone afterwards. */
#ifndef AFTERGLOW_PLUGIN_BUNDLE_H
#define AFTERGLOW_PLUGIN_BUNDLE_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "plugin/kubectl.h"

/*
 * Makes the directory (an empty one may be there), fills it and says on stderr what it does. pods is a list of the Ray pods of the
 * failure's namespace. The pod is deleted also when something fails or a signal comes (-EINTR); it ends by itself within an hour. What
 * was written until then stays.
 */
int bundle_save(const struct kubectl *kubectl, const cJSON *failure, const cJSON *pods, const char *image, const char *directory,
		struct err *err);

/*
 * Appends a single file of the bundle to content, whose ceiling is the caller's. The same pod reads it. -ENODATA: the bundle has no such
 * file; -EFBIG: it is larger than the ceiling.
 */
int bundle_read(const struct kubectl *kubectl, const cJSON *failure, const cJSON *pods, const char *image, const char *name,
		struct strbuf *content, struct err *err);

#endif
