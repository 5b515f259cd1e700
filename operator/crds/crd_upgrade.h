/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upgrades the CRDs of a release that is gone, or is older: afterglow-operator --upgrade-crds DIR.
 * The chart runs it in a Job before an installation or upgrade, with rights for these CRDs alone.
 * The operator that runs later has no right to change a CRD.
 */
#pragma once

#include "operator/kube/client.h"

#define CRD_FILES_MAX 16
#define CRD_FILE_MAX ((size_t)1 << 20) /* bytes; a ConfigMap has no more */

/*
 * Upgrades each CRD for which directory has a file (JSON, one object) to the file's content, and
 * logs each step. It leaves a CRD that is newer, or not from this chart. Blocks; base must have no
 * other work. On failure err names the CRD, and the CRDs of later files are unchanged.
 */
int crd_upgrade(struct event_base *base, struct client *client, const char *directory,
		struct err *err);
