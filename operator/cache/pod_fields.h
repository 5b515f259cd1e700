/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator keeps of a pod (kube/projection.h), which decides over its
 * memory: 2.5 KiB for each Ray pod of the cluster. Who reads another field of a
 * watched pod adds it here, or never sees it.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_POD_FIELDS_H
#define AFTERGLOW_OPERATOR_CACHE_POD_FIELDS_H

extern const char *const pod_fields[];

#endif
