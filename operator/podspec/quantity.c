/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers as Kubernetes quantities. */
#include "operator/podspec/quantity.h"

#include <inttypes.h>
#include <stdio.h>

const char *quantity_format_bytes(int64_t bytes, char buf[static QUANTITY_TEXT_MAX])
{
	static const char *const suffixes[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
	unsigned i = 0;

	/* Decimal units are preferred, as people write them: 120G is also 117187500Ki. */
	if (bytes && bytes % 1000000000 == 0) {
		snprintf(buf, QUANTITY_TEXT_MAX, "%" PRId64 "G", bytes / 1000000000);
		return buf;
	}
	if (bytes && bytes % (1 << 20) && bytes % 1000000 == 0) {
		snprintf(buf, QUANTITY_TEXT_MAX, "%" PRId64 "M", bytes / 1000000);
		return buf;
	}
	while (bytes && bytes % 1024 == 0 && i < 5) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, QUANTITY_TEXT_MAX, "%" PRId64 "%s", bytes, suffixes[i]);
	return buf;
}

const char *quantity_format_milli(int64_t milli, char buf[static QUANTITY_TEXT_MAX])
{
	if (milli % 1000)
		snprintf(buf, QUANTITY_TEXT_MAX, "%" PRId64 "m", milli);
	else
		snprintf(buf, QUANTITY_TEXT_MAX, "%" PRId64, milli / 1000);
	return buf;
}
