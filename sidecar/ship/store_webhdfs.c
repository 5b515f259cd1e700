/* SPDX-License-Identifier: Apache-2.0 */
/* HDFS over HTTP: refused so far. */
#include "sidecar/ship/store.h"

int store_webhdfs_open(const struct store_context *context, struct store **ret_store, struct fault *fault)
{
	(void)context;
	(void)ret_store;
	return fault_set(fault, FAULT_PROTOCOL, "this version of afterglow-ship cannot write to HDFS");
}
