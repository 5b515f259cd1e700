/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that read a failure's bundle from the store: bundle and report. Each returns the exit
 * code, or a negative error.
 */
#ifndef AFTERGLOW_PLUGIN_EVIDENCE_H
#define AFTERGLOW_PLUGIN_EVIDENCE_H

#include "lib/strbuf.h"
#include "plugin/options.h"

int evidence_bundle(const struct options *o, struct err *err);
int evidence_report(const struct options *o, struct strbuf *out, struct err *err);

#endif
