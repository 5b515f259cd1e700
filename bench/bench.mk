# SPDX-License-Identifier: Apache-2.0
# What the performance claims are measured with. Included by the Makefile.
BENCH_PROGRAMS := $(BUILD)/bench/sweep $(BUILD)/bench/spawn $(BUILD)/bench/launch_line $(BUILD)/test/hog

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(call objects,$(SIDECAR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SIDECAR_LIBS)

$(BUILD)/bench/launch_line: $(BUILD)/obj/bench/launch_line.o $(call objects,$(OPERATOR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(OPERATOR_LIBS)

.PHONY: bench
bench: $(BENCH_PROGRAMS) $(BUILD)/afterglow-launch $(BUILD)/afterglow-sidecar $(BUILD)/afterglow-unwind $(BUILD)/afterglow-pack $(BUILD)/afterglow-ship \
		$(BUILD)/test/crash
	@tools/apt-install.sh earlyoom zstd
	@BUILD=$(BUILD) bench/run.sh

$(BUILD)/bench/operator/requests: $(BUILD)/obj/bench/operator/requests.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcurl

.PHONY: bench-operator
bench-operator: $(BUILD)/bench/operator/requests $(BUILD)/afterglow-launch $(BUILD)/afterglow-operator
	@BUILD=$(BUILD) bench/operator/run.sh
