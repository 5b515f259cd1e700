# SPDX-License-Identifier: Apache-2.0
from afterglow_ray import main

main()
