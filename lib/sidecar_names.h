/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that the sidecar has in a pod's spec: the operator puts it there, and operator and
 * plugin look for it.
 */
#pragma once

#define SIDECAR_CONTAINER "afterglow"
#define SIDECAR_HTTP_PORT "afterglow-http" /* the name of the port of /failures and /metrics */
