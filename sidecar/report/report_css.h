/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet of report.html. */
#ifndef AFTERGLOW_SIDECAR_REPORT_REPORT_CSS_H
#define AFTERGLOW_SIDECAR_REPORT_REPORT_CSS_H

extern const char report_css[];

#endif
