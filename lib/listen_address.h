/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a TCP address of the command line, and listens on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Returns whether text is ADDRESS:PORT, [ADDRESS]:PORT or :PORT with a numeric address and a port
 * up to 65535.
 */
bool listen_address_is_valid(const char *text);

/*
 * Makes a socket that is bound to the address but does not listen yet: until it does, connections
 * are refused. ":PORT" and "[::]:PORT" mean IPv6 and IPv4, or IPv4 alone on a machine without IPv6.
 * Port 0 means any free port.
 */
int listen_address_bind(const char *text, int *ret_fd, uint16_t *ret_port, struct err *err);
