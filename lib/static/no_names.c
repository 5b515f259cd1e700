/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar looks up no names. libevent would, if asked, and so has glibc's name services linked in, which in a static
 * program load whatever nsswitch.conf says from the machine it runs on. These take their place.
 */
#include <netdb.h>

int getaddrinfo(const char *restrict host, const char *restrict service, const struct addrinfo *restrict hints,
		struct addrinfo **restrict ret_list)
{
	(void)host, (void)service, (void)hints, (void)ret_list;
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

const char *gai_strerror(int code)
{
	(void)code;
	return "this program looks up no names";
}

struct servent *getservbyname(const char *name, const char *protocol)
{
	(void)name, (void)protocol;
	return NULL;
}

struct protoent *getprotobynumber(int number)
{
	(void)number;
	return NULL;
}
