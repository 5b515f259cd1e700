/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the short-lived pod that reads a bundle from the store. It gets the image, the credentials
 * and the claim of a Ray pod's sidecar in the same namespace, so it can read what the sidecars
 * write and nothing else. Pure.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/err.h"

#define READER_CONTAINER "reader"
/* the pod ends by itself after so long, even if this program was killed */
#define READER_LIFE_S 3600
#define READER_ARGS_MAX 27
#define READER_TEXT_MAX 2048

struct reader_pod {
	cJSON *pod;
	/*
	 * Arguments of afterglow-ship in the pod, NULL at the end; they point into pods, store and
	 * path.
	 */
	const char *args[READER_ARGS_MAX + 1];
	char store[READER_TEXT_MAX], path[READER_TEXT_MAX];
};

/*
 * failure is a RayFailure; pods is a List of the Ray pods of its namespace (NULL: none); name is
 * the name of the new pod; image is the sidecar's image, or NULL to take it from a Ray pod. Returns
 * -ENODATA if the failure has no bundle in a store, -ENOENT if no Ray pod has a sidecar with the
 * options of the store. pods must outlive ret_pod, which the caller releases.
 */
int reader_pod_make(const cJSON *failure, const cJSON *pods, const char *name, const char *image,
		    struct reader_pod *ret_pod, struct err *err);
void reader_pod_release(struct reader_pod *pod);
