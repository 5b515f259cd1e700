#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the name of the Ray image that build.sh makes.
sed -n 's|^ray==\([^ ]*\).*|localhost/afterglow-ray:\1|p' "$(dirname "$0")/requirements.txt"
