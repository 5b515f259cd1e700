/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, Kubernetes quantities, times: text to number and back. */
#include "lib/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/macros.h"

static const struct {
	const char *suffix;
	int tens, twos; /* the factor is 10^tens * 2^twos */
} quantity_suffixes[] = {
	{ "", 0, 0 },	 { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },
	{ "k", 3, 0 },	 { "M", 6, 0 },	  { "G", 9, 0 },   { "T", 12, 0 },
	{ "P", 15, 0 },	 { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
	{ "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
};

#define EXPONENT_MAX 60

/* A decimal exponent ("e9", "E-3") is the other kind of suffix. */
static bool read_suffix(const char *suffix, int *ret_tens, int *ret_twos)
{
	const char *digits = suffix + 1 + (*suffix && strchr("+-", suffix[1]) && suffix[1]);
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(quantity_suffixes); i++)
		if (strcmp(suffix, quantity_suffixes[i].suffix) == 0) {
			*ret_tens = quantity_suffixes[i].tens;
			*ret_twos = quantity_suffixes[i].twos;
			return true;
		}
	if ((*suffix != 'e' && *suffix != 'E') || !isdigit((unsigned char)*digits))
		return false;
	long exponent = strtol(suffix + 1, &end, 10);
	if (*end || exponent < -EXPONENT_MAX || exponent > EXPONENT_MAX)
		return false;
	*ret_tens = (int)exponent;
	*ret_twos = 0;
	return true;
}

/*
 * A decimal number: digits * 10^tens. If rest is true, further digits were dropped because they are
 * too small to keep.
 */
struct decimal {
	unsigned __int128 digits;
	int tens;
	bool rest;
};

/* further digits of a fraction only round up */
#define DECIMAL_ENOUGH ((unsigned __int128)1000000000 * 10000000000)

/*
 * Returns the end of the number, or NULL if there is no number. *ret_fits is false if the number is
 * too large.
 */
static const char *read_decimal(const char *text, struct decimal *ret, bool *ret_fits)
{
	struct decimal d = { 0 };
	bool any = false, fraction = false;

	*ret_fits = true;
	for (; isdigit((unsigned char)*text) || (*text == '.' && !fraction); text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (*text == '.') {
			fraction = true;
			continue;
		}
		any = true;
		if (fraction && d.digits >= DECIMAL_ENOUGH) {
			d.rest |= digit != 0;
			continue;
		}
		if (__builtin_mul_overflow(d.digits, 10u, &d.digits) ||
		    __builtin_add_overflow(d.digits, digit, &d.digits))
			*ret_fits = false;
		d.tens -= fraction;
	}
	*ret = d;
	return any ? text : NULL;
}

/*
 * Computes digits * 10^tens * 2^twos, rounded up, without floating point: 0.253 is 253 thousandths,
 * where floating point would give 254.
 */
static bool scale_up(struct decimal d, int twos, int64_t *ret_value)
{
	if (!d.digits && !d.rest) {
		*ret_value = 0;
		return true;
	}
	if (__builtin_mul_overflow(d.digits, (unsigned __int128)1 << twos, &d.digits))
		return false;
	for (; d.tens > 0; d.tens--)
		if (__builtin_mul_overflow(d.digits, 10u, &d.digits))
			return false;
	for (; d.tens < 0; d.tens++) {
		d.rest |= d.digits % 10 != 0;
		d.digits /= 10;
	}
	if (d.digits + d.rest > INT64_MAX)
		return false;
	*ret_value = (int64_t)(d.digits + d.rest);
	return true;
}

int quantity_parse_milli(const char *text, int64_t *ret_milli, struct err *err)
{
	struct decimal number;
	int tens, twos;
	bool fits;
	const char *suffix = read_decimal(text + (*text == '+'), &number, &fits);

	if (!suffix || !read_suffix(suffix, &tens, &twos))
		return err_set(err, EINVAL, "\"%.40s\" is not a quantity such as 500m or 4Gi",
			       text);
	number.tens += tens + 3;
	if (!fits || !scale_up(number, twos, ret_milli))
		return err_set(err, ERANGE, "quantity \"%.40s\"", text);
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

struct python_size python_size(double bytes)
{
	const int64_t mib = (int64_t)1 << 20, gib = (int64_t)1 << 30;

	/* Ten times as much has to fit as well. */
	bytes = MIN(bytes, 0x1p58);
	int64_t tenths = (int64_t)(bytes / (double)gib * 10 + 0.999),
		mibs = (int64_t)(bytes / (double)mib + 0.999);
	struct python_size s;

	/* For large numbers tens of MiB are exact enough. */
	if (mibs > 100)
		mibs = (mibs + 9) / 10 * 10;
	s.bytes = bytes >= (double)gib ? (tenths * gib + 9) / 10 :
		  bytes >= (double)mib ? mibs * mib :
					 (int64_t)bytes;
	if (bytes >= (double)gib)
		snprintf(s.text, sizeof(s.text), "%" PRId64 ".%" PRId64 " * 1024**3", tenths / 10,
			 tenths % 10);
	else if (bytes >= (double)mib)
		snprintf(s.text, sizeof(s.text), "%" PRId64 " * 1024**2", mibs);
	else
		snprintf(s.text, sizeof(s.text), "%" PRId64, s.bytes);
	return s;
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
		snprintf(buf, DURATION_TEXT_MAX, "%" PRId64 " h %" PRId64 " min", s / 3600,
			 s % 3600 / 60);
	else
		snprintf(buf, DURATION_TEXT_MAX, "%" PRId64 " d %" PRId64 " h", s / 86400,
			 s % 86400 / 3600);
	return buf;
}

const char *time_format(int64_t unix_ns, char buf[static TIME_TEXT_MAX])
{
	int64_t part = unix_ns % NS_PER_SEC;
	time_t s = (time_t)(unix_ns / NS_PER_SEC);
	struct tm tm;

	if (part < 0) { /* before 1970 the fraction still counts forward */
		part += NS_PER_SEC;
		s--;
	}
	if (!gmtime_r(&s, &tm)) {
		snprintf(buf, TIME_TEXT_MAX, "?");
		return buf;
	}
	size_t len = strftime(buf, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, TIME_TEXT_MAX - len, ".%03dZ", (int)(part / NS_PER_MS));
	return buf;
}

struct text_of_size text_of_size(int64_t bytes)
{
	struct text_of_size s;

	size_format((uint64_t)MAX(bytes, 0), s.text);
	return s;
}

struct text_of_duration text_of_duration(int64_t ns)
{
	struct text_of_duration d;

	duration_format(ns, d.text);
	return d;
}

struct text_of_time text_of_time(int64_t unix_ns)
{
	struct text_of_time t;

	time_format(unix_ns, t.text);
	return t;
}

int time_parse(const char *text, int64_t *ret_unix_ns, struct err *err)
{
	struct tm tm = { 0 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t fraction = 0, weight = NS_PER_SEC / 10, ns;

	if (p && *p == '.')
		for (p++; isdigit((unsigned char)*p); p++, weight /= 10)
			fraction += (*p - '0') * weight;
	if (!p || strcmp(p, "Z") != 0)
		return err_set(err, EINVAL, "\"%.40s\" is not a time such as 2026-11-21T01:29:06Z",
			       text);
	/* Nanoseconds in an int64_t reach to the year 2262. */
	if (__builtin_mul_overflow((int64_t)timegm(&tm), NS_PER_SEC, &ns) || ns < 0 ||
	    __builtin_add_overflow(ns, fraction, &ns))
		return err_set(err, ERANGE, "time \"%.40s\"", text);
	*ret_unix_ns = ns;
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

/* macOS has no CLOCK_BOOTTIME. Its CLOCK_MONOTONIC goes on while the machine sleeps. */
#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

int64_t now_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}
