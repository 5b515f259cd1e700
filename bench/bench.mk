# SPDX-License-Identifier: Apache-2.0
# What the performance claims are measured with. Included by the Makefile.
BENCH_PROGRAMS := $(BUILD)/bench/sweep $(BUILD)/bench/signal_rate $(BUILD)/bench/spawn $(BUILD)/bench/launch_line $(BUILD)/test/hog

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(call objects,$(SIDECAR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SIDECAR_LIBS)

$(BUILD)/bench/launch_line: $(BUILD)/obj/bench/launch_line.o $(call objects,$(OPERATOR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(OPERATOR_LIBS)

.PHONY: bench
bench: $(BENCH_PROGRAMS) $(BUILD)/afterglow-launch $(BUILD)/afterglow-sidecar $(BUILD)/afterglow-node $(BUILD)/afterglow-unwind $(BUILD)/afterglow-pack $(BUILD)/afterglow-ship \
		$(BUILD)/test/crash
	@tools/apt-install.sh earlyoom zstd
	@BUILD=$(BUILD) bench/run.sh

$(BUILD)/bench/operator/requests: $(BUILD)/obj/bench/operator/requests.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcurl

$(BUILD)/bench/operator/plan_cost: $(BUILD)/obj/bench/operator/plan_cost.o $(call objects,$(OPERATOR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(OPERATOR_LIBS)

.PHONY: bench-operator
bench-operator: $(BUILD)/bench/operator/requests $(BUILD)/bench/operator/plan_cost $(BUILD)/afterglow-launch $(BUILD)/afterglow-operator
	@BUILD=$(BUILD) bench/operator/run.sh

$(BUILD)/bench/operator/poll: $(call objects,bench/operator/poll.c $(OPERATOR) $(LIB)) $(if $(SANITIZE),,$(BUILD)/static/libcurl.a $(BUILD)/static/libcjson.a)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_program) $(OPERATOR_LIBS)
$(BUILD)/bench/operator/poll: LDFLAGS += -Wl,--no-warnings

.PHONY: bench-poll
bench-poll: $(BUILD)/bench/operator/poll
	@$<

$(BUILD)/bench/webhook/load: $(BUILD)/obj/bench/webhook/load.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcurl

# Linked as the operator is: the difference of the two is to be admission alone.
$(BUILD)/bench/webhook/echo: $(call objects,bench/webhook/echo.c $(OPERATOR) $(LIB)) $(if $(SANITIZE),,$(BUILD)/static/libcurl.a $(BUILD)/static/libcjson.a)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_program) $(OPERATOR_LIBS)
$(BUILD)/bench/webhook/echo: LDFLAGS += -Wl,--no-warnings

.PHONY: bench-webhook
bench-webhook: $(BUILD)/bench/operator/requests $(BUILD)/bench/webhook/load $(BUILD)/bench/webhook/echo $(BUILD)/afterglow-launch \
		$(BUILD)/afterglow-operator
	@BUILD=$(BUILD) bench/webhook/run.sh
