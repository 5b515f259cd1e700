/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pages are that messages name: `make DOCS_URL=https://...` says it; otherwise it is
 * their place in the source.
 */
#pragma once

#ifndef AFTERGLOW_DOCS
#define AFTERGLOW_DOCS "docs"
#endif
#define DOCS_PAGE(name) AFTERGLOW_DOCS "/" name
