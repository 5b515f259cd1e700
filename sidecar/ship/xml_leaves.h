/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the XML of S3's answers with expat, and passes on the text of each leaf element with its
 * path. The server may be broken or hostile, so depth and length are bounded. A document type,
 * which S3 never sends, is refused, because it may define entities that expand to any size.
 */
#pragma once

#include <stddef.h>

#include "lib/err.h"

#define XML_DEPTH_MAX 8
#define XML_PATH_MAX 256 /* bytes */
#define XML_TEXT_MAX 2048 /* bytes */

/*
 * Gets a leaf: path is such as "ListPartsResult/Part/ETag", text has no blanks around it. At the
 * end of an element that has others in it, text is NULL. A result other than 0 ends the parsing,
 * without an error.
 */
typedef int (*xml_leaf_fn)(const char *path, const char *text, void *arg);

/*
 * Calls fn for each leaf in turn. Returns 0; -EFBIG, -EINVAL or -ENOMEM if the XML is too long, is
 * malformed or exceeds a bound, or if there is no memory.
 */
int xml_leaves(const char *xml, size_t len, xml_leaf_fn fn, void *arg, struct err *err);
