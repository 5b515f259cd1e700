# SPDX-License-Identifier: Apache-2.0
# What of kubectl afterglow is made for people's machines. Included by the Makefile.
#   make man            man pages into build/man, from the help of the commands

.PHONY: man
man: $(BUILD)/man/kubectl-afterglow.1
$(BUILD)/man/kubectl-afterglow.1: $(BUILD)/kubectl-afterglow tools/man.sh
	$(call say,MAN,$(@D))
	@mkdir -p $(@D)
	$(Q)tools/man.sh $(@D) $(EMULATOR) $<

# For macOS, compiled and linked here by zig (tools/zig.sh). No Mac runs it; tools/macho.py holds what can be seen from here.
# 11.0 is the first macOS for arm64.
#   make plugin-darwin  build/darwin-amd64/kubectl-afterglow and build/darwin-arm64/kubectl-afterglow
MACOS_VERSION := 11.0
DARWIN_PLUGINS := build/darwin-amd64/kubectl-afterglow build/darwin-arm64/kubectl-afterglow
DARWIN_SOURCES := plugin/main.c $(PLUGIN) $(PLUGIN_LIB)
darwin_target = $(if $(findstring darwin-arm64,$@),aarch64,x86_64)-macos.$(MACOS_VERSION)
darwin_cc = $(ZIG) cc -target $(darwin_target)
# zig keeps what it compiled there.
ZIG_CACHE := $(or $(AFTERGLOW_CACHE),$(HOME)/.cache/afterglow)/zig-objects

.PHONY: plugin-darwin
plugin-darwin: deps
	+@ZIG=$$(tools/zig.sh) && export ZIG ZIG_GLOBAL_CACHE_DIR=$(ZIG_CACHE) ZIG_LOCAL_CACHE_DIR=$(ZIG_CACHE) && \
		$(COMPILE) CFLAGS=-O2 $(DARWIN_PLUGINS)

build/darwin-%/libcjson.a: tools/static-library.sh tools/zig.sh
	@mkdir -p $(@D)/include/cjson
	@cp /usr/include/cjson/cJSON.h $(@D)/include/cjson/
	@CC="$(darwin_cc)" AR="$(ZIG) ar" SYSROOT= tools/static-library.sh cjson $@

$(DARWIN_PLUGINS): build/darwin-%/kubectl-afterglow: $(DARWIN_SOURCES) $(wildcard plugin/*.h plugin/*.def lib/*.h lib/*.def lib/digest/*.h) build/darwin-%/libcjson.a build/docs_url Makefile plugin/plugin.mk tools/macho.py
	$(call say,ZIG,$@)
	$(Q)$(darwin_cc) -std=gnu11 -I. -isystem $(@D)/include -include lib/banned.h $(DEFINES) $(WARNINGS) \
		-fstack-protector-strong $(REPRODUCIBLE) $(CFLAGS) -Wl,-dead_strip -s -o $@ $(filter %.c %.a,$^)
	$(Q)tools/macho.py $@ $* $(MACOS_VERSION)
