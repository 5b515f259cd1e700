/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the functions that look up names.
 *
 * The sidecar looks up no names. libevent can, so the linker takes in glibc's name services. In a
 * static program these load at run time whatever libraries nsswitch.conf names on the machine where
 * it runs. The functions here take their place.
 */
#include <netdb.h>

int getaddrinfo(const char *restrict host, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict ret_list)
{
	(void)host, (void)service, (void)hints, (void)ret_list;
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *)
{
}

const char *gai_strerror(int)
{
	return "this program looks up no names";
}

struct servent *getservbyname(const char *name, const char *protocol)
{
	(void)name, (void)protocol;
	return NULL;
}

struct protoent *getprotobynumber(int)
{
	return NULL;
}
