/* SPDX-License-Identifier: Apache-2.0 */
/* Converts sizes, Kubernetes quantities and times from text to numbers and back. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "lib/err.h"

/*
 * A Kubernetes resource quantity ("500m", "1.5Gi", "4e9", "129M") as a count of
 * thousandths, rounded up, at most INT64_MAX. Negative quantities are refused.
 * The grammar is that of k8s.io/apimachinery/pkg/api/resource.
 */
int quantity_parse_milli(const char *text, int64_t *ret_milli, struct err *err);

/* Does the same for whole units (bytes, cores), rounded up. */
int quantity_parse(const char *text, int64_t *ret_value, struct err *err);

/* Writes "4.0 GiB", "512.0 MiB", "17 B" into buf and returns buf. 16 bytes are enough. */
#define SIZE_TEXT_MAX 16
const char *size_format(uint64_t bytes, char buf[static SIZE_TEXT_MAX]);

/*
 * A size as it is pasted into Python: "1.3 * 1024**3", "260 * 1024**2", or whole bytes below a MiB.
 * At most 2^58 bytes.
 */
struct python_size {
	char text[SIZE_TEXT_MAX];
	int64_t bytes; /* that the text amounts to, rounded up */
};
struct python_size python_size(double bytes);

/* Writes "4 min 12 s", "850 ms", "2 h 3 min" into buf and returns buf. */
#define DURATION_TEXT_MAX 32
const char *duration_format(int64_t ns, char buf[static DURATION_TEXT_MAX]);

/* UTC time with milliseconds, RFC 3339: "2026-11-21T01:29:06.324Z". From nanoseconds since 1970. */
#define TIME_TEXT_MAX 32
const char *time_format(int64_t unix_ns, char buf[static TIME_TEXT_MAX]);

/*
 * The same three by value: SIZE_TEXT(bytes) is a text that lives until the end of the statement, so
 * it can only be an argument. Less than 0 bytes are shown as "0 B".
 */
struct text_of_size {
	char text[SIZE_TEXT_MAX];
};
struct text_of_duration {
	char text[DURATION_TEXT_MAX];
};
struct text_of_time {
	char text[TIME_TEXT_MAX];
};
struct text_of_size text_of_size(int64_t bytes);
struct text_of_duration text_of_duration(int64_t ns);
struct text_of_time text_of_time(int64_t unix_ns);
#define SIZE_TEXT(bytes) (text_of_size(bytes).text)
#define DURATION_TEXT(ns) (text_of_duration(ns).text)
#define TIME_TEXT(unix_ns) (text_of_time(unix_ns).text)

/*
 * Parses a time by RFC 3339 in UTC ("Z"), with or without a fraction, from 1970 on. So the
 * difference of any two fits into 64 bits, also if a tenant made them up.
 */
int time_parse(const char *text, int64_t *ret_unix_ns, struct err *err);

/*
 * Return the present time by CLOCK_REALTIME and by CLOCK_BOOTTIME, which continues while the
 * machine is suspended, in nanoseconds.
 */
int64_t now_realtime_ns(void);
int64_t now_boottime_ns(void);

#define NS_PER_SEC ((int64_t)1000000000)
#define NS_PER_MS ((int64_t)1000000)

#define PID_MAX_LIMIT 4194304 /* no PID is larger: the kernel's bound on 64-bit machines */
