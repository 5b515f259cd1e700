/* SPDX-License-Identifier: Apache-2.0 */
/* The style and the script of the page of all failures (page.h). */
#ifndef AFTERGLOW_PLUGIN_PAGE_ASSETS_H
#define AFTERGLOW_PLUGIN_PAGE_ASSETS_H

extern const char page_css[];
/*
 * The script compares texts and hides elements. It creates no elements, so a tenant's text cannot
 * become markup.
 */
extern const char page_script[];

#endif
