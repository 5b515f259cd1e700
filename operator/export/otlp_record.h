/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RayFailure as a log record of OpenTelemetry, in the JSON encoding of OTLP. Pure: time is an argument.
 *
 * The resource is what failed: the container, its pod and its node, by OpenTelemetry's semantic conventions, so that the record
 * is found beside the logs of that container. docs/export.md lists all attributes.
 */
#ifndef AFTERGLOW_OPERATOR_EXPORT_OTLP_RECORD_H
#define AFTERGLOW_OPERATOR_EXPORT_OTLP_RECORD_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "operator/export/otlp_settings.h"

/* Bytes of a text in a record; what is longer is cut. The CRD allows no text of this length where the operator writes it. */
#define OTLP_TEXT_MAX 1024

/*
 * One member of "resourceLogs" with one record, of a whole RayFailure; the caller owns it. observed_ns: since 1970, which is also
 * the record's time if the failure has none. NULL: it is no RayFailure with a name, or there is no memory.
 */
cJSON *otlp_record_new(const cJSON *failure, const struct otlp_settings *settings,
		       int64_t observed_ns);

/*
 * Adds the incident that the failure belongs to and the name of its first cause, of the RayFailure's metadata as it is by now
 * (failures/story.h). Nothing if they are not known. To be called once.
 */
void otlp_record_set_incident(cJSON *record, const cJSON *failure);

#endif
