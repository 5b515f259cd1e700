/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML as S3 answers in it, by expat: the text of each element that holds no
 * other, with its path. The server may be broken or hostile: depth and length of
 * texts are bounded, and a document type, which S3 never sends, is refused: entities come with it.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_XML_LEAVES_H
#define AFTERGLOW_SIDECAR_SHIP_XML_LEAVES_H

#include <stddef.h>

#include "lib/err.h"

#define XML_DEPTH_MAX 8
#define XML_PATH_MAX 256
#define XML_TEXT_MAX 2048

/*
 * path: "ListPartsResult/Part/ETag", text without the blanks around it. The end of an element that
 * holds others is told with text NULL. Not 0: parsing ends, without an error.
 */
typedef int (*xml_leaf_fn)(const char *path, const char *text, void *arg);

int xml_leaves(const char *xml, size_t len, xml_leaf_fn fn, void *arg, struct err *err);

#endif
