/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a log record of OpenTelemetry from a RayFailure, in the JSON encoding of OTLP. Pure: time
 * is an argument.
 *
 * The resource is the failed object: the container, its pod and its node, by OpenTelemetry's
 * semantic conventions, so that the record is found beside the logs of that container.
 * docs/export.md lists all attributes.
 */
#ifndef AFTERGLOW_OPERATOR_EXPORT_OTLP_RECORD_H
#define AFTERGLOW_OPERATOR_EXPORT_OTLP_RECORD_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "operator/export/otlp_settings.h"

/*
 * The most bytes of a text in a record; a longer text is cut. The CRD allows no text of this length
 * where the operator writes it.
 */
#define OTLP_TEXT_MAX 1024

/*
 * Makes one member of "resourceLogs" with one record, from a whole RayFailure; the caller owns it.
 * observed_ns is since 1970, and is also the record's time if the failure has none. Returns NULL if
 * it is not a RayFailure with a name, or there is no memory.
 */
cJSON *otlp_record_new(const cJSON *failure, const struct otlp_settings *settings,
		       int64_t observed_ns);

/*
 * Adds the incident that the failure belongs to and the name of its first cause, from the
 * RayFailure's present metadata (failures/story.h). Adds nothing if they are not known. Call this
 * once.
 */
void otlp_record_set_incident(cJSON *record, const cJSON *failure);

#endif
