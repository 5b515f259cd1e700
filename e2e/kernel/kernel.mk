# SPDX-License-Identifier: Apache-2.0
# Tests on a real kernel. Included by the Makefile.
KERNEL_TEST_TOOLS := $(BUILD)/test/hog $(BUILD)/test/probe
KERNEL_TESTS := $(patsubst e2e/kernel/%.c,$(BUILD)/test/%,$(wildcard e2e/kernel/launch_test.c e2e/kernel/oom_loop.c))

# What dies in the tests is static: its memory is its own, and it runs in any machine.
$(KERNEL_TEST_TOOLS): $(BUILD)/test/%: e2e/kernel/%.c Makefile
	$(call say,MUSL,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O1 -g0 -static -Wl,-s -o $@ $<

$(KERNEL_TESTS): $(BUILD)/test/%: $(BUILD)/obj/e2e/kernel/%.o $(call objects,$(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SIDECAR_LIBS)

.PHONY: launch-test oom-loop kernel-tests kernel-tests-v2
launch-test: $(BUILD)/afterglow-launch $(BUILD)/test/launch_test $(KERNEL_TEST_TOOLS)
	$(Q)AFTERGLOW_BUILD=$(BUILD) $(BUILD)/test/launch_test
