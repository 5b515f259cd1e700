/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows an HTML page that a tenant may have written: the report of a bundle is a file in a store,
 * and its place is known from words of the pod; or in a directory, in which others may write or to
 * which it came from a store. It is put into a frame without scripts, forms, pop-ups and an origin
 * of its own (sandbox), under a policy by which it loads nothing from anywhere, and below a line
 * that says where it is from. Pure.
 */
#pragma once

#include "lib/strbuf.h"

/*
 * Appends the page around html. name is that of the RayFailure, or of a bundle in a directory
 * (is_local).
 */
void foreign_page(const char *name, bool is_local, const struct strbuf *html, struct strbuf *out);
