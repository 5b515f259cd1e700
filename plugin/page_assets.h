/* SPDX-License-Identifier: Apache-2.0 */
/* Style and script of the page of all failures. */
#ifndef AFTERGLOW_PLUGIN_PAGE_ASSETS_H
#define AFTERGLOW_PLUGIN_PAGE_ASSETS_H

extern const char page_css[];
/* It compares texts and hides elements; it makes none. */
extern const char page_script[];

#endif
