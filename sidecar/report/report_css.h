/* SPDX-License-Identifier: Apache-2.0 */
/* How report.html looks. */
#ifndef AFTERGLOW_SIDECAR_REPORT_REPORT_CSS_H
#define AFTERGLOW_SIDECAR_REPORT_REPORT_CSS_H

extern const char report_css[];

#endif
