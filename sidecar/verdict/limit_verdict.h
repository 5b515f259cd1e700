/* SPDX-License-Identifier: Apache-2.0 */
/* When a limit other than memory's explains an exit code of the command's own. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_LIMIT_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_LIMIT_VERDICT_H

#include "sidecar/verdict/classify.h"

/* v is what the wait status alone says; becomes ProcessLimit or DiskFull, likely only. */
void limit_verdict(const struct observation *o, struct verdict *v);

#endif
