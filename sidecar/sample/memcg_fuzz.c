/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the texts of a memory cgroup. The first byte selects the parser. For memcg_find the
 * first NUL separates /proc/PID/cgroup from mountinfo.
 */
#include "sidecar/sample/memcg.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const char *cgroup, const char *mountinfo)
{
	struct memcg_place place;
	char path[512];
	int version;

	if (memcg_find_place(cgroup, mountinfo, &place, NULL) == 0) {
		memcg_place_to_container(&place);
		if (strnlen(place.path, sizeof(place.path)) < place.top ||
		    strnlen(place.cgroup, sizeof(place.cgroup)) == sizeof(place.cgroup))
			abort();
	}
	if (memcg_find(cgroup, mountinfo, path, sizeof(path), &version, NULL) < 0)
		return;
	if ((version != 1 && version != 2) || strnlen(path, sizeof(path)) == sizeof(path))
		abort();
}

static void parse(char which, const char *text)
{
	struct memory m = MEMORY_ABSENT;
	const int64_t *value = (const int64_t *)&m;

	if (which == 's')
		memcg_parse_v1_stat(text, &m);
	else if (which == 'S')
		memcg_parse_v2_stat(text, &m);
	else if (which == 'o')
		memcg_parse_v1_oom_control(text, &m);
	else if (which == 'e')
		memcg_parse_v2_events(text, &m);
	else if (which == 'p')
		memcg_parse_v2_pressure(text, &m);
	else
		m.usage = memcg_parse_value(text);
	for (size_t i = 0; i < sizeof(m) / sizeof(*value); i++)
		if (value[i] < -1)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;
	const char *second;

	if (size < 1)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	second = text + strlen(text) + 1;
	if (data[0] == 'f')
		find(text, second < text + size ? second : "");
	else
		parse((char)data[0], text);
	return 0;
}
