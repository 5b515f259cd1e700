# SPDX-License-Identifier: Apache-2.0
# Fuzzing with libFuzzer, and without it: any NAME_fuzz.c beside its module is a target; its seeds are in
# testdata/fuzz/NAME/ there. Included by the Makefile.
#   make fuzz [FUZZ_SECONDS=60]           each target in turn, with clang; what it finds goes to build/fuzz/found
#   make fuzz-replay [SANITIZE=...]       each target on its seeds and all their beginnings, with any compiler
FUZZ_SECONDS ?= 60
CLANG ?= clang-14
FUZZERS := $(sort $(wildcard lib/*_fuzz.c node/*_fuzz.c plugin/*_fuzz.c sidecar/*/*_fuzz.c operator/*/*_fuzz.c))
FUZZ_PROGRAMS := $(patsubst %.c,$(BUILD)/fuzz/%,$(FUZZERS))
FUZZ_MAIN = $(if $(findstring fuzzer,$(SANITIZE)),,$(BUILD)/obj/tools/fuzz_replay.o)
FUZZ_ENGINE = $(if $(findstring fuzzer,$(SANITIZE)),-fsanitize=fuzzer)

define link_fuzzer
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(FUZZ_ENGINE) -o $@ $^ $(1)
endef

$(BUILD)/fuzz/lib/%_fuzz: $(BUILD)/obj/lib/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/lib.a
	$(call link_fuzzer,$(SIDECAR_LIBS))
$(BUILD)/fuzz/sidecar/pack/%_fuzz: $(BUILD)/obj/sidecar/pack/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/pack.a
	$(call link_fuzzer,$(PACK_LIBS))
$(BUILD)/fuzz/sidecar/%_fuzz: $(BUILD)/obj/sidecar/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/sidecar.a
	$(call link_fuzzer,$(SIDECAR_LIBS))
$(BUILD)/fuzz/sidecar/ship/%_fuzz: $(BUILD)/obj/sidecar/ship/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/ship.a
	$(call link_fuzzer,$(SHIP_LIBS))
$(BUILD)/fuzz/sidecar/unwind/%_fuzz: $(BUILD)/obj/sidecar/unwind/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/unwind.a
	$(call link_fuzzer,$(UNWIND_LIBS))
$(BUILD)/fuzz/node/%_fuzz: $(BUILD)/obj/node/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/node.a
	$(call link_fuzzer,-lcjson -lm)
$(BUILD)/fuzz/plugin/%_fuzz: $(BUILD)/obj/plugin/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/plugin.a
	$(call link_fuzzer,-lcjson -lcrypto)
$(BUILD)/fuzz/operator/%_fuzz: $(BUILD)/obj/operator/%_fuzz.o $(FUZZ_MAIN) $(BUILD)/obj/operator.a
	$(call link_fuzzer,$(OPERATOR_LIBS))

# build/fuzz/DIR/NAME_fuzz to DIR/testdata/fuzz/NAME.
fuzz_seeds = $(patsubst $(BUILD)/fuzz/%,%,$(dir $(1)))testdata/fuzz/$(patsubst %_fuzz,%,$(notdir $(1)))

FUZZ_REPLAYS := $(addprefix replay-,$(FUZZ_PROGRAMS))
.PHONY: fuzz fuzz-run fuzz-replay fuzz-programs $(FUZZ_REPLAYS)
fuzz-programs: $(FUZZ_PROGRAMS)
fuzz-replay: $(FUZZ_REPLAYS)
$(FUZZ_REPLAYS): replay-%: %
	$(Q)$< $(call fuzz_seeds,$<)

# FUZZERS=sidecar/sample/memcg_fuzz.c narrows it down.
fuzz:
	@[ $(CLANG) != clang-14 ] || tools/apt-install.sh clang-14 libclang-rt-14-dev
	+@$(MAKE) --no-print-directory BUILD=build/fuzz CC=$(CLANG) SANITIZE=address,undefined,fuzzer-no-link \
		CFLAGS='-O1 -g -Wno-error -Wno-unknown-warning-option' FUZZERS='$(FUZZERS)' fuzz-run

fuzz-run: $(FUZZ_PROGRAMS)
	$(Q)$(foreach f,$^,mkdir -p $(f).corpus $(BUILD)/found $(call fuzz_seeds,$(f)) && echo "== $(notdir $(f)), $(FUZZ_SECONDS) s" && \
		$(f) -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -timeout=10 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=$(BUILD)/found/$(notdir $(f))- $(f).corpus $(call fuzz_seeds,$(f)) &&) true

# Faults of another kind: these tests make each allocation of our own code fail in turn.
$(BUILD)/test/sidecar/faults_test $(BUILD)/test/operator/faults_test $(BUILD)/test/operator/cache/faults_test: LDFLAGS += \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
