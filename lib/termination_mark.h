/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark before the JSON in the last line of a termination message: the sidecar writes it, and
 * the operator looks for it.
 */
#pragma once

#define TERMINATION_MARK "#afterglow/1 "
