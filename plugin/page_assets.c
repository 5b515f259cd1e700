/* SPDX-License-Identifier: Apache-2.0 */
/* The style of the page of all failures, and the script of its filters. */
#include "plugin/page_assets.h"

const char page_css[] =
#include "plugin/page_css.def"
	;

const char page_script[] =
#include "plugin/page_script.def"
	;
