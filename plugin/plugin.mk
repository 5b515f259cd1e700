# SPDX-License-Identifier: Apache-2.0
# What of kubectl afterglow is made for people's machines. Included by the Makefile.
#   make man            man pages into build/man, from the help of the commands

.PHONY: man
man: $(BUILD)/man/kubectl-afterglow.1
$(BUILD)/man/kubectl-afterglow.1: $(BUILD)/kubectl-afterglow
	$(call say,MAN,$(@D))
	@mkdir -p $(@D)
	$(Q)$(EMULATOR) $< __man $(@D)
