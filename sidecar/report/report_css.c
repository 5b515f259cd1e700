/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet of report.html: light and dark, for desktops, phones and paper. */
#include "sidecar/report/report_css.h"

/* Colours: colour-blind people can distinguish blue, orange, violet and grey, too. */
const char report_css[] =
#include "sidecar/report/report_css.def"
	;
