/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, Kubernetes quantities, times: text to number and back. */
#include "lib/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *suffix;
	long double factor;
} quantity_suffixes[] = {
	{ "", 1.0L },
	{ "n", 1e-9L },
	{ "u", 1e-6L },
	{ "m", 1e-3L },
	{ "k", 1e3L },
	{ "M", 1e6L },
	{ "G", 1e9L },
	{ "T", 1e12L },
	{ "P", 1e15L },
	{ "E", 1e18L },
	{ "Ki", 1024.0L },
	{ "Mi", 1024.0L * 1024 },
	{ "Gi", 1024.0L * 1024 * 1024 },
	{ "Ti", 1024.0L * 1024 * 1024 * 1024 },
	{ "Pi", 1024.0L * 1024 * 1024 * 1024 * 1024 },
	{ "Ei", 1024.0L * 1024 * 1024 * 1024 * 1024 * 1024 },
};

/* A decimal exponent ("e9", "E-3") is the other kind of suffix. */
static int suffix_factor(const char *suffix, long double *ret_factor)
{
	for (size_t i = 0; i < ARRAY_SIZE(quantity_suffixes); i++)
		if (strcmp(suffix, quantity_suffixes[i].suffix) == 0) {
			*ret_factor = quantity_suffixes[i].factor;
			return 0;
		}
	if (*suffix == 'e' || *suffix == 'E') {
		char *end;
		long exponent = strtol(suffix + 1, &end, 10);

		if (end == suffix + 1 || *end || exponent < -18 || exponent > 18)
			return -EINVAL;
		*ret_factor = powl(10.0L, exponent);
		return 0;
	}
	return -EINVAL;
}

int quantity_parse_milli(const char *text, int64_t *ret_milli, struct err *err)
{
	char digits[48];
	size_t len = strspn(text, "0123456789.");
	long double value, factor;
	char *end;

	if (!len || len >= sizeof(digits))
		return err_set(err, EINVAL, "\"%.40s\" is not a quantity such as 500m or 4Gi", text);
	memcpy(digits, text, len);
	digits[len] = '\0';
	value = strtold(digits, &end);
	if (*end || suffix_factor(text + len, &factor) < 0)
		return err_set(err, EINVAL, "\"%.40s\" is not a quantity such as 500m or 4Gi", text);
	value = ceill(value * factor * 1000.0L);
	if (value >= (long double)INT64_MAX)
		return err_set(err, ERANGE, "quantity \"%.40s\"", text);
	*ret_milli = (int64_t)value;
	return 0;
}

int quantity_parse(const char *text, int64_t *ret_value, struct err *err)
{
	int64_t milli;
	int r = quantity_parse_milli(text, &milli, err);

	if (r < 0)
		return r;
	*ret_value = milli / 1000 + (milli % 1000 != 0);
	return 0;
}

const char *size_format(uint64_t bytes, char buf[static SIZE_TEXT_MAX])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, SIZE_TEXT_MAX, "%" PRIu64 " B", bytes);
		return buf;
	}
	/* 1023.95 would print as 1024.0: it belongs to the next unit. */
	while (value >= 1023.95 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, SIZE_TEXT_MAX, "%.1f %s", value, units[unit]);
	return buf;
}

const char *duration_format(int64_t ns, char buf[static DURATION_TEXT_MAX])
{
	int64_t s = ns / NS_PER_SEC;

	if (ns < NS_PER_SEC)
		snprintf(buf, DURATION_TEXT_MAX, "%" PRId64 " ms", MAX(ns, 0) / NS_PER_MS);
	else if (s < 60)
		snprintf(buf, DURATION_TEXT_MAX, "%.1f s", (double)ns / NS_PER_SEC);
	else if (s < 3600)
		snprintf(buf, DURATION_TEXT_MAX, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, DURATION_TEXT_MAX, "%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
	else
		snprintf(buf, DURATION_TEXT_MAX, "%" PRId64 " d %" PRId64 " h", s / 86400, s % 86400 / 3600);
	return buf;
}

const char *time_format(int64_t unix_ns, char buf[static TIME_TEXT_MAX])
{
	time_t s = (time_t)(unix_ns / NS_PER_SEC);
	struct tm tm;
	size_t len;

	if (!gmtime_r(&s, &tm)) {
		snprintf(buf, TIME_TEXT_MAX, "?");
		return buf;
	}
	len = strftime(buf, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, TIME_TEXT_MAX - len, ".%03dZ", (int)(unix_ns % NS_PER_SEC / NS_PER_MS));
	return buf;
}

int time_parse(const char *text, int64_t *ret_unix_ns, struct err *err)
{
	struct tm tm = { 0 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t fraction = 0, weight = NS_PER_SEC / 10;

	if (p && *p == '.')
		for (p++; isdigit((unsigned char)*p); p++, weight /= 10)
			fraction += (*p - '0') * weight;
	if (!p || strcmp(p, "Z") != 0)
		return err_set(err, EINVAL, "\"%.40s\" is not a time such as 2026-11-21T01:29:06Z", text);
	*ret_unix_ns = (int64_t)timegm(&tm) * NS_PER_SEC + fraction;
	return 0;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t now_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t now_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}
