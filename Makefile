# SPDX-License-Identifier: Apache-2.0
# Afterglow. `make help` lists the targets. Knobs: SANITIZE=address,undefined  DEBUG=1  V=1
VERSION := 0.1.0
SANITIZE ?=
BUILD ?= build$(if $(SANITIZE),/$(subst $(comma),-,$(SANITIZE)))
comma := ,
CC ?= cc
MUSL_CC ?= musl-gcc
PYTHON ?= python3

CFLAGS ?= $(if $(DEBUG)$(SANITIZE),-Og -g3,-O2 -g)
# -Wno-format-truncation: texts for people go to fixed buffers and are meant to be cut.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-Wformat=2 -Wno-format-truncation -Wundef -Wimplicit-fallthrough -Wno-format-truncation -Werror
HARDENING := -fstack-protector-strong -D_FORTIFY_SOURCE=$(if $(DEBUG)$(SANITIZE),0,2) -fPIE
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. -include lib/banned.h -DAFTERGLOW_VERSION='"$(VERSION)"' -MMD -MP \
	$(WARNINGS) $(HARDENING) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) '$(2)')

# A module is name.c; name_test.c beside it is its test, name_fuzz.c its fuzz target, main.c the program.
modules = $(foreach d,$(1),$(filter-out %_test.c %_fuzz.c %main.c,$(wildcard $(d)/*.c)))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

LIB := $(call modules,lib)
SIDECAR := $(call modules,sidecar/sample sidecar/record sidecar/verdict sidecar/report sidecar/store sidecar)
OPERATOR := $(call modules,operator/kube operator/raycluster operator/failures operator)
TESTS := $(sort $(wildcard lib/*_test.c sidecar/*_test.c sidecar/*/*_test.c operator/*_test.c operator/*/*_test.c))

SIDECAR_LIBS := -lcjson -levent_core -lmd -lm
OPERATOR_LIBS := -lcurl -levent_extra -levent_core -lyaml -lcjson -lssl -lcrypto -lm

PROGRAMS := $(BUILD)/afterglow-launch $(BUILD)/afterglow-sidecar $(BUILD)/afterglow-operator

.PHONY: all
all: $(PROGRAMS)

$(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The launcher runs inside any image: static, libc only, and small enough for a ConfigMap.
$(BUILD)/afterglow-launch: sidecar/launch/main.c $(wildcard sidecar/launch/*.h) Makefile
	$(call say,MUSL,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) -std=gnu11 -D_GNU_SOURCE -I. -DAFTERGLOW_VERSION='"$(VERSION)"' $(WARNINGS) -Os -g0 -static \
		-fstack-protector-strong -ffunction-sections -Wl,--gc-sections,-s -o $@ $<

$(BUILD)/afterglow-sidecar: $(call objects,$(SIDECAR) $(LIB) sidecar/main.c)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SIDECAR_LIBS)

$(BUILD)/afterglow-operator: $(call objects,$(OPERATOR) $(LIB) operator/main.c)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(OPERATOR_LIBS)

# Tests link the modules of their program, so that each test file says only what it tests.
$(BUILD)/test/lib/%_test: $(BUILD)/obj/lib/%_test.o $(call objects,$(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SIDECAR_LIBS)
$(BUILD)/test/sidecar/%_test: $(BUILD)/obj/sidecar/%_test.o $(call objects,$(SIDECAR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SIDECAR_LIBS)
$(BUILD)/test/operator/%_test: $(BUILD)/obj/operator/%_test.o $(call objects,$(OPERATOR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(OPERATOR_LIBS)

.PHONY: unit-tests
unit-tests: $(patsubst %.c,$(BUILD)/test/%,$(TESTS))
	$(Q)set -e; for t in $^; do echo "== $$t"; $$t; done

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
