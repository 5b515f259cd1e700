/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet of report.html. */
#pragma once

extern const char report_css[];
