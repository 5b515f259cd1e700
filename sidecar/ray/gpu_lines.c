/* SPDX-License-Identifier: Apache-2.0 */
/* Finds errors of CUDA, HIP and NCCL in the last lines of a program. */
#include "sidecar/ray/gpu_lines.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/span.h"

#define DEVICE_LARGEST 1023
#define RANK_LARGEST 999999

/* Returns the text up to the first byte that is in ends. */
static struct span gpu_lines_until(struct span s, const char *ends)
{
	size_t n = 0;

	while (n < s.len && s.at[n] && !strchr(ends, s.at[n]))
		n++;
	return (struct span){ s.at, n };
}

/* Copies as much as fits; a byte that is not printable ASCII becomes '?'. */
static void gpu_lines_copy(struct span s, char *out, size_t size)
{
	size_t n = 0;

	while (n < s.len && n + 1 < size) {
		out[n] = s.at[n] >= ' ' && s.at[n] < 0x7f ? s.at[n] : '?';
		n++;
	}
	while (n > 0 && (out[n - 1] == ' ' || out[n - 1] == '.'))
		n--;
	out[n] = '\0';
}

#define COPY(s, field) gpu_lines_copy(s, field, sizeof(field))

static int gpu_lines_number(struct span s, int max)
{
	int64_t value = -1;

	span_number(&s, max, &value);
	return (int)value;
}

/* Takes a size such as "20.00 MiB" or "512 bytes" from the beginning of s. */
static void take_size(struct span s, char *out, size_t size)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t digits = 0;

	while (digits < s.len && s.at[digits] && strchr("0123456789.,", s.at[digits]))
		digits++;
	if (!digits || digits >= s.len || s.at[digits] != ' ')
		return;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t len = strlen(units[i]);

		if (s.len - digits - 1 >= len && memcmp(s.at + digits + 1, units[i], len) == 0)
			gpu_lines_copy((struct span){ s.at, digits + 1 + len }, out, size);
	}
}

/* Takes the size before the mark, as in "1.66 GiB is free" or "5.00 MiB free". */
static void size_before(struct span s, const char *mark, char *out, size_t size)
{
	struct span rest = span_find(s, mark);
	size_t blanks = 0;
	const char *p = rest.at;

	if (!p)
		return;
	while (p > s.at && blanks < 2 && !strchr(";(\n", p[-1])) {
		p--;
		blanks += *p == ' ';
	}
	p += *p == ' ';
	take_size((struct span){ p, (size_t)(rest.at - p) + 1 }, out, size);
}

static void read_out_of_memory(struct span line, struct gpu_error *g)
{
	struct span device = span_after(line, "GPU ");

	g->device = gpu_lines_number(device, DEVICE_LARGEST);
	take_size(span_after(line, "Tried to allocate "), g->tried, sizeof(g->tried));
	take_size(span_after(line, "has a total capacity of "), g->total, sizeof(g->total));
	take_size(span_after(line, "has a total capacty of "), g->total, sizeof(g->total));
	size_before(line, " total capacity;", g->total, sizeof(g->total));
	size_before(line, " is free.", g->available, sizeof(g->available));
	size_before(line, " free;", g->available, sizeof(g->available));
}

/* Parses "CUDA error: an illegal memory access was encountered". */
static void read_error(struct span line, struct gpu_error *g)
{
	static const char *const marks[] = { "CUDA error: ", "HIP error: ", "cuDNN error: ",
					     "CUDA driver error: " };

	for (size_t i = 0; i < ARRAY_SIZE(marks) && !g->what[0]; i++)
		COPY(gpu_lines_until(span_after(line, marks[i]), "\n(`"), g->what);
	g->device = gpu_lines_number(span_after(line, "device "), DEVICE_LARGEST);
}

static void read_rank(struct span line, struct gpu_error *g)
{
	g->rank = gpu_lines_number(span_after(line, "[Rank "), RANK_LARGEST);
	if (g->rank < 0)
		g->rank = gpu_lines_number(span_after(line, " Rank "), RANK_LARGEST);
	if (g->rank < 0)
		g->rank = gpu_lines_number(span_after(line, "[rank"), RANK_LARGEST);
}

/* The name of NCCL's error, such as ncclRemoteError, is on the next line. */
static void name_nccl_error(struct span text, struct gpu_error *g)
{
	static const char *const names[] = { "ncclRemoteError",	       "ncclSystemError",
					     "ncclUnhandledCudaError", "ncclInternalError",
					     "ncclInvalidUsage",       "ncclInvalidArgument" };
	struct span near = { text.at, MIN(text.len, (size_t)600) };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (span_find(near, names[i]).at) {
			snprintf(g->what, sizeof(g->what), "%s", names[i]);
			return;
		}
}

static void read_nccl(struct span line, struct span text, struct gpu_error *g)
{
	struct span operation = gpu_lines_until(span_after(line, "OpType="), ",) \n");

	read_rank(line, g);
	if (span_find(line, "operation timeout").at) {
		char name[32] = "";

		COPY(operation, name);
		snprintf(g->what, sizeof(g->what), "%s timed out",
			 name[0] ? name : "a collective operation");
		return;
	}
	name_nccl_error(text, g);
	if (!g->what[0])
		COPY(gpu_lines_until(span_after(line, "NCCL error: "), ",\n"), g->what);
}

static const struct {
	const char *mark;
	enum gpu_words kind;
} marks[] = {
	{ "CUDA out of memory", GPU_ERROR_OUT_OF_MEMORY },
	{ "HIP out of memory", GPU_ERROR_OUT_OF_MEMORY },
	{ "CUDA error: out of memory", GPU_ERROR_OUT_OF_MEMORY },
	{ "HIP error: out of memory", GPU_ERROR_OUT_OF_MEMORY },
	{ "CUDA driver error: out of memory", GPU_ERROR_OUT_OF_MEMORY },
	{ "cudaErrorMemoryAllocation", GPU_ERROR_OUT_OF_MEMORY },
	{ "cupy.cuda.memory.OutOfMemoryError", GPU_ERROR_OUT_OF_MEMORY },
	{ "RESOURCE_EXHAUSTED: Out of memory", GPU_ERROR_OUT_OF_MEMORY },
	{ "CUDA error: ", GPU_ERROR_CUDA },
	{ "HIP error: ", GPU_ERROR_CUDA },
	{ "cuDNN error: ", GPU_ERROR_CUDA },
	{ "CUDA driver error: ", GPU_ERROR_CUDA },
	{ "Watchdog caught collective operation timeout", GPU_ERROR_NCCL },
	{ "NCCL error", GPU_ERROR_NCCL },
	{ "ncclRemoteError: ", GPU_ERROR_NCCL },
	{ "ncclSystemError: ", GPU_ERROR_NCCL },
	{ "ncclUnhandledCudaError: ", GPU_ERROR_NCCL },
	{ "ncclInternalError: ", GPU_ERROR_NCCL },
	{ "ncclInvalidUsage: ", GPU_ERROR_NCCL },
	{ " NCCL WARN ", GPU_ERROR_WARNING },
};

static enum gpu_words kind_of(struct span line)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (span_find(line, marks[i].mark).at)
			return marks[i].kind;
	return GPU_ERROR_NONE;
}

static void gpu_lines_read_line(struct span line, struct span text, enum gpu_words kind,
				struct gpu_error *ret_error)
{
	*ret_error = (struct gpu_error){ .kind = kind, .device = -1, .rank = -1 };
	COPY(line, ret_error->line);
	switch (kind) {
	case GPU_ERROR_OUT_OF_MEMORY:
		read_out_of_memory(line, ret_error);
		break;
	case GPU_ERROR_CUDA:
		read_error(line, ret_error);
		break;
	case GPU_ERROR_NCCL:
		read_nccl(line, text, ret_error);
		break;
	default:
		COPY(gpu_lines_until(span_after(line, "NCCL WARN "), "\n"), ret_error->what);
		break;
	}
}

bool gpu_lines_parse(const char *text, size_t len, struct gpu_error *ret_error)
{
	struct span rest = { text, len };
	enum gpu_words best = GPU_ERROR_NONE;

	/* Errors of memory and of CUDA have the same weight, so the first one counts. */
	while (rest.len && best < GPU_ERROR_CUDA) {
		struct span from = rest, line = span_take_line(&rest);

		enum gpu_words kind = kind_of(line);
		if (kind > best) {
			gpu_lines_read_line(line, from, kind, ret_error);
			best = kind;
		}
	}
	return best != GPU_ERROR_NONE;
}
