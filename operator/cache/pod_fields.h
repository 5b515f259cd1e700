/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a pod that the operator keeps (kube/projection.h). They determine its
 * memory: 2.5 KiB for each Ray pod of the cluster. Code that reads another field of a
 * watched pod must add it here; otherwise the field is always absent.
 */
#pragma once

extern const char *const pod_fields[];
