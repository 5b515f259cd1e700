/* SPDX-License-Identifier: Apache-2.0 */
/* Derives from the options to which directory and store bundles go. */
#include "sidecar/ending/options.h"

#include <string.h>

const char *record_options_bundles(const struct record_options *o)
{
	if (o->spool)
		return o->spool;
	if (o->bundles)
		return o->bundles;
	return o->store.url ? store_directory(o->store.url) : NULL;
}

bool record_options_ships(const struct record_options *o)
{
	const char *directory = o->store.url ? store_directory(o->store.url) : NULL,
		   *bundles = record_options_bundles(o);

	return o->store.url && bundles && (!directory || strcmp(directory, bundles) != 0);
}

const char *record_options_store_name(const struct record_options *o)
{
	const char *directory = o->store.url ? store_directory(o->store.url) : NULL;

	if (!o->store.url)
		return "spool";
	if (o->store_name)
		return o->store_name;
	return directory ? directory : o->store.url;
}
