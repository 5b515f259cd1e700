/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the store that the options name, and the HTTP client of a store. */
#include "sidecar/ship/store.h"

#include "sidecar/ship/http.h"

int store_open(const struct store_context *context, struct store **ret_store, struct fault *fault)
{
	static const struct store_ops *const kinds[] = {
		[STORE_DIRECTORY] = &store_directory_ops,
		[STORE_S3] = &store_s3_ops,
		[STORE_AZURE] = &store_azure_ops,
		[STORE_WEBHDFS] = &store_webhdfs_ops,
	};
	const struct store_ops *ops = kinds[context->options->store.kind];
	struct store *s = calloc(1, ops->size);

	if (!s)
		return fault_set(fault, FAULT_MEMORY, "store: out of memory");
	*s = (struct store){ .ops = ops, .context = context };
	if (ops->open(s, fault) < 0) {
		ops->free(s);
		return -1;
	}
	*ret_store = s;
	return 0;
}

int store_http_new(const struct store_context *context, const char *ca, struct http **ret_http,
		   struct fault *fault)
{
	const struct ship_options *o = context->options;
	/* clang-format off */
	const struct http_settings settings = {
		.ca = o->ca ? o->ca : ca, .proxy = o->proxy, .no_proxy = o->no_proxy,
		.deadline_ns = context->deadline_ns, .rate = o->rate, .stall_s = o->stall_s, .alive = progress_alive, .arg = context->progress,
	};
	/* clang-format on */

	return http_new(&settings, ret_http, fault);
}
