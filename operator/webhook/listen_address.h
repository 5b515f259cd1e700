/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a TCP address of the command line, and listens on it. */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_LISTEN_ADDRESS_H
#define AFTERGLOW_OPERATOR_WEBHOOK_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Whether text is ADDRESS:PORT, [ADDRESS]:PORT or :PORT with a numeric address and a port up to 65535. */
bool listen_address_is_valid(const char *text);

/*
 * A socket bound to the address, not yet listening: until it does, connections are refused. ":PORT" and "[::]:PORT" are IPv6
 * and IPv4, or IPv4 alone where the machine has no IPv6. Port 0: any that is free.
 */
int listen_address_bind(const char *text, int *ret_fd, uint16_t *ret_port, struct err *err);

#endif
