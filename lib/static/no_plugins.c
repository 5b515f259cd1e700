/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps libraries of the machine out of a static program.
 *
 * A krb5.conf can name libraries for libkrb5 to load. The Secret that has the krb5.conf could have
 * such a library as well, and its code would run in each Ray pod. libdw would load a client of
 * debuginfod. And glibc would load the name services that nsswitch.conf names, which have to be of
 * the glibc that the program was built with: on another distribution they crash it. Files and DNS
 * it has built in.
 */
#include <dlfcn.h>
#include <nss.h>
#include <stddef.h>

void *dlopen(const char *file, int mode)
{
	(void)file, (void)mode;
	return NULL;
}

__attribute__((constructor)) static void name_services_choose(void)
{
	__nss_configure_lookup("hosts", "files dns");
	for (const char *const *name =
		     (const char *const[]){ "passwd", "group", "services", "protocols", NULL };
	     *name; name++)
		__nss_configure_lookup(*name, "files");
}
