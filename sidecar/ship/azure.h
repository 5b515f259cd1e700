/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the Azure store share these: the identity and the place of the container. */
#pragma once

#include "sidecar/ship/azure_answer.h"
#include "sidecar/ship/azure_identity.h"
#include "sidecar/ship/object_store.h"

struct azure {
	struct object_store objects;
	struct azure_place place;
	char endpoint[600]; /* without a slash at its end */
	struct azure_identity identity;
};

/* Sends a file in blocks. Blocks that an earlier run has sent are not sent again. */
int azure_put_blocks(struct object_store *o, const struct item *item, const char *key,
		     struct fault *fault);
