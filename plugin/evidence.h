/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that read a failure's bundle from the store: bundle and report. Each returns the
 * exit code, or a negative error.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "plugin/options.h"

int evidence_bundle(const struct options *o, struct strbuf *out, struct err *err);
int evidence_report(const struct options *o, struct strbuf *out, struct err *err);

/* Appends a text of the bundle of a failure that local_failures read. */
int evidence_file(const cJSON *failure, const char *name, struct strbuf *out, struct err *err);
