/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the store that the options name. */
#include "sidecar/ship/store.h"

int store_open(const struct store_context *context, struct store **ret_store, struct fault *fault)
{
	static int (*const opens[])(const struct store_context *, struct store **, struct fault *) = {
		[STORE_DIRECTORY] = store_directory_open,
		[STORE_S3] = store_s3_open,
		[STORE_AZURE] = store_azure_open,
		[STORE_WEBHDFS] = store_webhdfs_open,
	};

	return opens[context->options->store.kind](context, ret_store, fault);
}
