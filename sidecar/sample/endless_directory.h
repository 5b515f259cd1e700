/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: directories that have ever more files, as a hostile filesystem shows them. To be
 * linked with --wrap=readdir, and included by one file of a program.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>

/*
 * So many files end the directory all the same, so that a listing without a bound fails and ends.
 */
#define ENDLESS_MAX 2000000

/* 0: directories are as they are; else they have ever more files, and it counts them. */
static unsigned int endless;

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent entry = { .d_type = DT_REG };

	if (!endless)
		return __real_readdir(dir);
	if (endless == ENDLESS_MAX)
		return NULL;
	snprintf(entry.d_name, sizeof(entry.d_name), "x%u", endless++);
	return &entry;
}
