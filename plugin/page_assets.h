/* SPDX-License-Identifier: Apache-2.0 */
/* The style and the script of the page of all failures (page.h). */
#pragma once

extern const char page_css[];
/*
 * The script compares texts and hides elements. It creates no elements, so a tenant's text cannot
 * become markup.
 */
extern const char page_script[];
