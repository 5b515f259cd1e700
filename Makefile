# SPDX-License-Identifier: Apache-2.0
# Afterglow. `make help` lists the targets. Knobs: SANITIZE=address,undefined  DEBUG=1  V=1  ARCH=arm64
VERSION := 0.1.0
# The address of the pages that messages name, such as https://example.com/docs; empty: their place in the source.
DOCS_URL ?=
ifneq ($(findstring %,$(DOCS_URL)),)
$(error DOCS_URL=$(DOCS_URL): it comes into formats of printf, and so may have no %)
endif
DEFINES = -DAFTERGLOW_VERSION='"$(VERSION)"' $(if $(DOCS_URL),-DAFTERGLOW_DOCS='"$(DOCS_URL)"')
SANITIZE ?=
# Empty: the machine that builds. arm64: a cross compiler, with Debian's libraries for that machine in a folder of their own.
# Only the command line sets it (make ARCH=arm64): the ARCH and SYSROOT of an environment are not
# meant for us.
ARCH :=
SYSROOT :=
BUILD ?= build$(if $(ARCH),/$(ARCH))$(if $(SANITIZE),/$(subst $(comma),-,$(SANITIZE)))
comma := ,
# What was compiled before is not compiled again, in another clone either.
ifeq ($(origin CC),default)
CC := $(if $(shell command -v ccache),ccache )cc
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
endif
MUSL_CC ?= musl-gcc
NM := nm
ifeq ($(ARCH),arm64)
export SYSROOT := $(CURDIR)/build/arm64/sysroot
export CC := aarch64-linux-gnu-gcc --sysroot=$(SYSROOT)
export AR := aarch64-linux-gnu-ar
NM := aarch64-linux-gnu-nm
MUSL_CC := aarch64-linux-gnu-gcc -specs $(SYSROOT)/musl-gcc.specs
EMULATOR := qemu-aarch64-static -L $(SYSROOT)
else ifneq ($(ARCH),)
$(error ARCH=$(ARCH): only arm64 can be built on another machine)
endif

# A sanitizer names functions and lines, for which -g1 is enough; all of -g3 would be linked into each of 350 programs.
CFLAGS ?= $(if $(DEBUG),-Og -g3,$(if $(SANITIZE),-Og -g1,-O2 -g))
# -Wno-format-truncation: texts for people go to fixed buffers and are meant to be cut. -Wno-c2x-extensions: a parameter that
# a callback must have and does not use has no name, as in C23; clang calls that an extension, gcc does not.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-Wformat=2 -Wundef -Wimplicit-fallthrough -Wno-format-truncation -Wno-c2x-extensions -Werror
HARDENING := -fstack-protector-strong -D_FORTIFY_SOURCE=$(if $(DEBUG)$(SANITIZE),0,2) -fPIE
# Where it was built is not in the programs, so that two people get the same bytes.
REPRODUCIBLE := -ffile-prefix-map=$(CURDIR)=.
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. -include lib/banned.h $(DEFINES) -MMD -MP \
	$(WARNINGS) $(HARDENING) $(REPRODUCIBLE) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
# Each test has all modules of its program in it. gold links it in half of the time, where there is one; nothing that ships needs it.
TEST_LINKER := $(if $(ARCH)$(findstring fuzzer,$(SANITIZE)),,$(if $(shell command -v ld.gold),-fuse-ld=gold))
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) \
	$(if $(filter $(BUILD)/test/% $(BUILD)/fuzz/%,$@),$(TEST_LINKER))
# Debian's linker packs relocations for x86-64 alone.
PACK_RELOCS := $(if $(ARCH),,-Wl$(comma)-z$(comma)pack-relative-relocs)
STATIC_LDFLAGS = -static-pie -Wl,-z,relro,-z,now $(PACK_RELOCS) -Wl,--gc-sections -L$(BUILD)/static $(LDFLAGS)
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) '$(2)')

# A module is name.c; name_test.c beside it is its test, name_fuzz.c its fuzz target, main.c the program.
modules = $(foreach d,$(1),$(filter-out %_test.c %_fuzz.c %main.c,$(wildcard $(d)/*.c)))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

LIB := $(call modules,lib)
# What needs libevent.
LOOP := $(call modules,lib/loop)
# What needs libcrypto, of which static programs get the five objects with SHA-256.
DIGEST := $(call modules,lib/digest)
CORE := $(call modules,sidecar/core)
SIDECAR := $(call modules,sidecar/sample sidecar/ray sidecar/crash sidecar/socket sidecar/record sidecar/watch sidecar/ending sidecar/keeping sidecar/verdict sidecar/report sidecar/store sidecar/spool sidecar/kernel sidecar/http sidecar/node sidecar)
# The launcher's word for where cores go, which the sidecar puts into reports.
SIDECAR += sidecar/launch/core_pattern.c
# Where afterglow-ship may put cores, which the sidecar checks before there is any.
SIDECAR += sidecar/ship/cores_prefix.c
# And whose core it is; all else of a core is read by children.
SIDECAR += $(CORE) $(LOOP) $(DIGEST)
CONFINE := $(call modules,sidecar/confine)
SHIP := $(call modules,sidecar/ship) $(DIGEST)
PACK := $(call modules,sidecar/pack) $(CORE) $(CONFINE) $(DIGEST)
UNWIND := $(call modules,sidecar/unwind) sidecar/sample/rootfd.c sidecar/sample/root_walk.c sidecar/sample/fuse.c $(CORE) $(CONFINE)
OPERATOR := $(call modules,operator/kube operator/cache operator/policy operator/podspec operator/injection operator/raycluster operator/launcher operator/webhook operator/failures operator/fate operator/cluster_controller operator/failure_controller operator/crds operator/manager operator) $(LOOP) $(DIGEST)
# The plugin and what it takes of lib also build for macOS (plugin/plugin.mk).
PLUGIN := $(call modules,plugin) $(DIGEST)
PLUGIN_LIB := $(patsubst %,lib/%.c,command_line err exit_code failure_class fileio html incident incident_rules json memory_needs oom phrases printable stack_groups strbuf strmap tar units utf8)
NODE := $(call modules,node)
# What of lib needs libc alone, as the node agent does.
NODE_LIB := $(patsubst %,lib/%.c,budget command_line err fileio kernel_text log oom outlet printable strbuf syslog_lines units utf8)
TESTS := $(sort $(wildcard lib/*_test.c lib/*/*_test.c plugin/*_test.c node/*_test.c sidecar/*_test.c sidecar/*/*_test.c operator/*_test.c operator/*/*_test.c))

# From 3.2 on, as in Debian 13, OpenSSL compresses certificates, by zlib and zstd. Nothing of these is linked where it does not.
SIDECAR_LIBS := -lcjson -levent_extra -levent_core -lcrypto -lm
SHIP_LIBS := -lcurl -lkrb5 -lresolv -lexpat -lcjson -lssl -lcrypto -lzstd -lz
UNWIND_LIBS := -ldw -lelf -liberty -lcjson -llzma -lbz2 -lz -lzstd
PACK_LIBS := -lzstd -lcrypto -lcjson -lpthread -lm
OPERATOR_LIBS := -lcurl -levent_openssl -levent_extra -levent_core -lyaml -lcjson -lssl -lcrypto -lzstd -lz -lm

PROGRAMS := $(BUILD)/afterglow-launch $(BUILD)/afterglow-sidecar $(BUILD)/afterglow-pack $(BUILD)/afterglow-ship $(BUILD)/afterglow-unwind $(BUILD)/afterglow-operator $(BUILD)/afterglow-node $(BUILD)/kubectl-afterglow

SHARED_PROGRAMS := $(BUILD)/shared/afterglow-sidecar $(BUILD)/shared/afterglow-ship $(BUILD)/shared/afterglow-operator

.PHONY: all shared
all: $(PROGRAMS)
shared: $(SHARED_PROGRAMS)

.DELETE_ON_ERROR:
# Objects of tests are kept, too.
.SECONDARY:

# What names a page is compiled anew when the pages have moved.
.PHONY: FORCE
build/docs_url: FORCE
	@mkdir -p $(@D) && { echo '$(DOCS_URL)' | cmp -s - $@ || echo '$(DOCS_URL)' >$@; }
NAMES_PAGES := $(shell grep -l DOCS_PAGE node/*.c plugin/*.c sidecar/*.c operator/*/*.c)
$(call objects,$(NAMES_PAGES)): build/docs_url

$(BUILD)/obj/%.o: %.c | $(SYSROOT)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The launcher runs inside any image: static, libc only, and small enough for a ConfigMap.
LAUNCHER := sidecar/launch/main.c $(call modules,sidecar/launch) $(patsubst %,lib/%.c,command_line err printable units utf8)
$(BUILD)/afterglow-launch: $(LAUNCHER) $(wildcard sidecar/launch/*.h lib/*.h) Makefile | $(SYSROOT)
	$(call say,MUSL,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) -std=gnu11 -D_GNU_SOURCE -I. -DAFTERGLOW_VERSION='"$(VERSION)"' $(WARNINGS) -Os -g0 -static \
		-fstack-protector-strong -ffunction-sections -Wl,--gc-sections,-s $(INPUTS) -o $@ $(LAUNCHER)

# The node agent: libc only as well. The kernel starts it for each core of the node, so it has to start fast and to need nothing.
$(BUILD)/afterglow-node: $(NODE) $(NODE_LIB) node/main.c $(wildcard node/*.h lib/*.h) build/docs_url Makefile | $(SYSROOT)
	$(call say,MUSL,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) -std=gnu11 -D_GNU_SOURCE -I. -include lib/banned.h $(DEFINES) $(WARNINGS) -Os -g0 -static \
		-fstack-protector-strong -ffunction-sections -Wl,--gc-sections,-s $(INPUTS) -o $@ $(NODE) $(NODE_LIB) node/main.c

# The sidecar is in every Ray pod. Static it needs a quarter less memory, the operator half: of a shared library more is mapped
# than used, and Debian's libcurl brings thirty.
# Sanitizers are shared libraries; and what has to replace a function of libc, or watch it, takes the program in shared/.
# What went into a program, for the list of parts in a release (tools/sbom.py).
INPUTS = -Wl,--dependency-file=$@.inputs
# Where a library's source could not be had, its archive is empty, and programs take the shared one.
not_static = $(or $(SANITIZE),$(findstring /shared/,$@),$(lacks_source))
lacks_source = $(strip $(foreach archive,$(filter %.a,$^),$(shell find $(archive) -size -9c)))
# Where --no-warnings hides that a symbol is in no library, the linker makes a program that crashes when it calls it.
check_symbols = $(if $(not_static),:,! $(NM) $@ | grep ' U ' >&2)
link_program = $(CC) $(INPUTS) $(if $(not_static),$(ALL_LDFLAGS),$(STATIC_LDFLAGS)) -o $@ $(filter-out $(if $(lacks_source),$(BUILD)/obj/lib/static/%),$(filter %.o,$^))

$(BUILD)/afterglow-sidecar $(BUILD)/shared/afterglow-sidecar: $(call objects,$(SIDECAR) $(LIB) sidecar/main.c)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_program) $(SIDECAR_LIBS)

ifndef SANITIZE
$(BUILD)/afterglow-sidecar: $(call objects,lib/static/no_names.c) $(BUILD)/static/libcjson.a
$(BUILD)/kubectl-afterglow: $(BUILD)/static/libcjson.a
$(BUILD)/afterglow-operator: $(BUILD)/static/libcjson.a $(BUILD)/static/libcurl.a
$(BUILD)/afterglow-ship: $(call objects,lib/static/no_plugins.c) $(BUILD)/static/libcjson.a $(BUILD)/static/libcurl.a $(BUILD)/static/libkrb5.a
$(BUILD)/afterglow-pack: $(BUILD)/static/libcjson.a
$(BUILD)/afterglow-unwind: $(call objects,lib/static/no_plugins.c lib/static/elf_trees.c) $(BUILD)/static/libcjson.a
# The linker warns of what a static glibc loads from the machine. In operator and shipper that is nothing but name services, of which
# the shipper has those for files and DNS alone; and libdw cannot load its client of debuginfod.
$(BUILD)/afterglow-operator $(BUILD)/afterglow-ship $(BUILD)/afterglow-unwind: LDFLAGS += -Wl,--no-warnings
endif

# Anew when Debian's headers are new.
$(BUILD)/static/lib%.a: tools/static-library.sh $(subst :,\:,$(wildcard $(patsubst %,/var/lib/dpkg/info/%*.list,libcjson-dev libcurl4-openssl-dev libkrb5-dev libssl-dev))) | $(SYSROOT)
	$(Q)tools/static-library.sh $(if $(ARCH),,--or-less) $* $@

$(BUILD)/afterglow-ship $(BUILD)/shared/afterglow-ship: $(call objects,$(SHIP) $(LIB) sidecar/ship/main.c)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_program) $(SHIP_LIBS)
	$(Q)$(check_symbols)

$(BUILD)/afterglow-pack: $(call objects,$(PACK) $(LIB) sidecar/pack/main.c)
	$(call say,LINK,$@)
	$(Q)$(link_program) $(PACK_LIBS)

$(BUILD)/afterglow-unwind: $(call objects,$(UNWIND) $(LIB) sidecar/unwind/main.c)
	$(call say,LINK,$@)
	$(Q)$(link_program) $(UNWIND_LIBS)
	$(Q)$(check_symbols)

# It is copied to people's machines.
$(BUILD)/kubectl-afterglow: $(call objects,$(PLUGIN) $(PLUGIN_LIB) plugin/main.c)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_program) -lcjson -lcrypto
$(BUILD)/afterglow-operator $(BUILD)/shared/afterglow-operator: $(call objects,$(OPERATOR) $(LIB) operator/main.c)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_program) $(OPERATOR_LIBS)
	$(Q)$(check_symbols)

# Tests link the modules of their program, so that each test file says only what it tests; from an archive, of which the linker takes
# those that the test needs.
define test_archive
$(BUILD)/obj/$(1).a: $(call objects,$(sort $(2) $(LIB)))
	$$(Q)rm -f $$@ && $$(AR) qcsT $$@ $$^
endef
$(eval $(call test_archive,lib,$(LOOP) $(DIGEST)))
$(eval $(call test_archive,pack,$(PACK)))
$(eval $(call test_archive,sidecar,$(SIDECAR)))
$(eval $(call test_archive,launch,$(call modules,sidecar/launch)))
$(eval $(call test_archive,ship,$(SHIP)))
$(eval $(call test_archive,unwind,$(UNWIND)))
$(eval $(call test_archive,plugin,$(PLUGIN)))
$(eval $(call test_archive,node,$(NODE)))
$(eval $(call test_archive,operator,$(OPERATOR)))
# Static pattern rules: for a folder with a new source, make would take the rule of the folder above, whose objects exist already.
tests_in = $(patsubst %.c,$(BUILD)/test/%,$(wildcard $(1)/*_test.c))
$(BUILD)/test/lib/%_test: $(BUILD)/obj/lib/%_test.o $(BUILD)/obj/lib.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SIDECAR_LIBS)
# Faults that do not come by themselves.
$(BUILD)/test/lib/strbuf_test: LDFLAGS += -Wl,--wrap=realloc
$(BUILD)/test/lib/leave_session_test: LDFLAGS += -Wl,--wrap=fcntl
$(BUILD)/test/lib/fileio_test: LDFLAGS += -Wl,--wrap=read,--wrap=pread,--wrap=write,--wrap=fsync
$(BUILD)/test/node/kernel_lines_test: LDFLAGS += -Wl,--wrap=open,--wrap=lseek,--wrap=sendmsg,--wrap=setsockopt
$(BUILD)/test/node/core_handler_test: LDFLAGS += -Wl,--wrap=pod_of_process,--wrap=sidecar_link_receive
$(BUILD)/test/operator/raycluster/pod_template_test: LDFLAGS += -Wl,--wrap=cJSON_GetObjectItemCaseSensitive
$(BUILD)/test/operator/manager/server_test: LDFLAGS += -Wl,--wrap=now_boottime_ns
$(BUILD)/test/sidecar/disk_faults_test: LDFLAGS += -Wl,--wrap=write,--wrap=fsync,--wrap=openat,--wrap=mkdirat,--wrap=renameat
$(BUILD)/test/sidecar/kernel/kmsg_read_test: LDFLAGS += -Wl,--wrap=read,--wrap=klogctl
$(BUILD)/test/lib/loop/errand_test: LDFLAGS += -Wl,--wrap=fstat
$(BUILD)/test/sidecar/crash/crashes_test: LDFLAGS += -Wl,--wrap=elf_core_open
$(BUILD)/test/sidecar/crash/addition_test: LDFLAGS += -Wl,--wrap=extend_begin,--wrap=extend_commit,--wrap=extend_discard
$(BUILD)/test/sidecar/ship/s3_multipart_test: LDFLAGS += -Wl,--wrap=object_call,--wrap=object_start,--wrap=http_wait
$(BUILD)/test/sidecar/spool/inventory_test: LDFLAGS += -Wl,--wrap=renameat
$(BUILD)/test/sidecar/spool/shipper_test: LDFLAGS += -Wl,--wrap=ship_look
$(BUILD)/test/operator/webhook/cluster_admission_test $(BUILD)/test/operator/raycluster/plan_scale_test: LDFLAGS += -Wl,--wrap=strcmp,--wrap=cJSON_GetObjectItemCaseSensitive
$(BUILD)/test/operator/raycluster/plan_scale_test: LDFLAGS += -Wl,--wrap=cJSON_Compare
$(BUILD)/test/sidecar/sample/processes_test: LDFLAGS += -Wl,--wrap=rootfd_open_no_fuse,--wrap=readdir
$(BUILD)/test/sidecar/sample/memcg_search_test $(BUILD)/test/sidecar/sample/memcg_tree_test: LDFLAGS += -Wl,--wrap=readdir
$(BUILD)/test/sidecar/watch/cgroup_watch_test: LDFLAGS += -Wl,--wrap=vm_events_oom_kills
$(BUILD)/test/sidecar/record/node_words_test: LDFLAGS += -Wl,--wrap=now_boottime_ns
$(BUILD)/test/sidecar/keeping/keeping_test: LDFLAGS += -Wl,--wrap=bundle_commit
$(BUILD)/test/sidecar/record/container_threshold_test: LDFLAGS += -Wl,--wrap=report_to_termination_message
$(BUILD)/test/sidecar/record/sidecar_test: LDFLAGS += -Wl,--wrap=bundle_begin,--wrap=report_to_termination_message,--wrap=limits_read
$(BUILD)/test/sidecar/record/container_events_test: LDFLAGS += -Wl,--wrap=gate_admit,--wrap=fd_is_on_cgroupfs
$(BUILD)/test/sidecar/record/container_report_test: LDFLAGS += -Wl,--wrap=keeper_is_keeping,--wrap=keeper_keep,--wrap=keeper_go_on,--wrap=elf_core_open,--wrap=ray_watch_finish,--wrap=ray_watch_last_summary,--wrap=ray_watch_process_words,--wrap=ray_watch_logs_dir,--wrap=gpu_words_at_end,--wrap=limits_read,--wrap=kernel_log_look
$(BUILD)/test/sidecar/keeping/state_dir_test: LDFLAGS += -Wl,--wrap=errand_start
$(BUILD)/test/sidecar/socket/listener_test: LDFLAGS += -Wl,--wrap=accept4,--wrap=bind
$(call tests_in,sidecar/pack): $(BUILD)/test/%: $(BUILD)/obj/%.o $(BUILD)/obj/pack.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(PACK_LIBS)
$(BUILD)/test/sidecar/%_test: $(BUILD)/obj/sidecar/%_test.o $(BUILD)/obj/sidecar.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SIDECAR_LIBS)
$(call tests_in,sidecar/launch): $(BUILD)/test/%: $(BUILD)/obj/%.o $(BUILD)/obj/launch.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka -lcjson -lm
$(call tests_in,sidecar/ship): $(BUILD)/test/%: $(BUILD)/obj/%.o $(BUILD)/obj/ship.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SHIP_LIBS)
$(call tests_in,sidecar/unwind): $(BUILD)/test/%: $(BUILD)/obj/%.o $(BUILD)/obj/unwind.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(UNWIND_LIBS)
$(BUILD)/test/plugin/%_test: $(BUILD)/obj/plugin/%_test.o $(BUILD)/obj/plugin.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka -lcjson -lcrypto
$(BUILD)/test/node/%_test: $(BUILD)/obj/node/%_test.o $(BUILD)/obj/node.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka -lcjson -lm
$(BUILD)/test/operator/%_test: $(BUILD)/obj/operator/%_test.o $(BUILD)/obj/operator.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(OPERATOR_LIBS)

# The admission of clusters, for tests in other languages.
$(BUILD)/test/cluster-admission: $(call objects,operator/webhook/cluster_admission_main.c $(OPERATOR) $(LIB))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(OPERATOR_LIBS)

# With -j several at a time; what each says stays together (--output-sync), and all of them run, whatever fails.
UNIT_TESTS := $(patsubst %.c,$(BUILD)/test/%,$(TESTS))
# The emulator runs a program on this machine's kernel, without seccomp, openat2, close-on-exec of what comes over a socket, and with a
# /proc in which each process is the emulator. What tests just these needs a kernel of that machine,
# or starts programs of that machine; the webhook's two are too slow in the emulator.
NEED_OWN_KERNEL := node/core_account_test operator/injection/launch_script_test operator/manager/server_test \
	operator/webhook/certificate_plan_test operator/webhook/cluster_admission_test sidecar/crash/crashes_test \
	sidecar/faults_test sidecar/launch/disposition_test sidecar/launch/environment_test sidecar/memcg_make_test sidecar/node/nodes_test \
	sidecar/pack/confine_test sidecar/socket/channel_test \
	sidecar/socket/discard_test sidecar/watch/gpu_words_test sidecar/record/heartbeat_test \
	sidecar/keeping/kept_report_test sidecar/watch/ray_watch_test sidecar/record/sidecar_test \
	sidecar/sample/limits_test sidecar/sample/proc_stat_test sidecar/sample/processes_test sidecar/sample/ray_node_test sidecar/sample/rootfd_test \
	sidecar/unwind/confine_test
UNIT_RUNS := $(addprefix run-,$(if $(EMULATOR),$(filter-out $(NEED_OWN_KERNEL:%=$(BUILD)/test/%),$(UNIT_TESTS)),$(UNIT_TESTS)))
.PHONY: unit-tests unit-test-programs check-docs $(UNIT_RUNS)
unit-test-programs: $(UNIT_TESTS)
unit-tests: $(UNIT_TESTS)
	+$(Q)$(MAKE) --no-print-directory --keep-going --output-sync=target $(if $(SANITIZE)$(ARCH),,check-docs) $(UNIT_RUNS)
# Whether the options, values, metrics and links in the documents are there, and whether no rooms include each other.
check-docs:
	$(Q)echo "== tools/check_docs.py"
	$(Q)set -e; for name in failed_tests second_try sbom macho krew release_check check_docs rooms go static_library changelog man support_matrix; do tools/$${name}_test.py; done; wheel/build_test.py
	$(Q)e2e/deaths/truth_test.py && tools/check_docs.py && tools/chart_readme.py --check
	$(Q)tools/rooms.py
$(UNIT_RUNS): run-%: %
	$(Q)echo "== $<"; timeout 900 $(EMULATOR) $<

-include e2e/kernel/kernel.mk fuzz.mk bench/bench.mk plugin/plugin.mk

# What a person calls. Packages first: a new machine has none of them.
LIBRARY_PACKAGES := libbz2-dev libc6-dev libcjson-dev libcurl4-openssl-dev libdw-dev libevent-dev libexpat1-dev libiberty-dev libkrb5-dev liblzma-dev libssl-dev \
	libyaml-dev libzstd-dev zlib1g-dev
BUILD_PACKAGES := dpkg-dev gcc make musl-tools $(LIBRARY_PACKAGES)
TEST_PACKAGES := busybox-static ccache libcmocka-dev
ifdef SYSROOT
BUILD_PACKAGES := dpkg-dev gcc-aarch64-linux-gnu libc6-dev make mmdebstrap
SYSROOT_PACKAGES := $(LIBRARY_PACKAGES) libcmocka-dev musl-dev
# Anew when another package is wanted.
build/arm64/sysroot.wanted: FORCE
	@mkdir -p $(@D) && { echo '$(SYSROOT_PACKAGES)' | cmp -s - $@ || echo '$(SYSROOT_PACKAGES)' >$@; }
$(SYSROOT): tools/sysroot.sh build/arm64/sysroot.wanted
	$(Q)tools/apt-install.sh $(BUILD_PACKAGES)
	$(Q)tools/sysroot.sh $(ARCH) $@ $(SYSROOT_PACKAGES)
	$(Q)touch $@
# The kernel and the shell of a machine in which that architecture's programs are tested (e2e/kernel/vm.sh).
$(BUILD)/machine: tools/sysroot.sh
	$(Q)tools/apt-install.sh mmdebstrap
	$(Q)tools/sysroot.sh $(ARCH) $@ linux-image-cloud-arm64 busybox-static
	$(Q)touch $@
# Our release of Debian has no kernel with larger pages, so this one is of the next release.
$(BUILD)/machine-16k: tools/sysroot.sh
	$(Q)tools/apt-install.sh mmdebstrap
	$(Q)AFTERGLOW_SUITE=trixie tools/sysroot.sh $(ARCH) $@ linux-image-arm64-16k
	$(Q)touch $@
endif

version:
	@echo $(VERSION)

.PHONY: version deps test-deps test test-programs sanitizer-tests sanitized check try demo demo-kuberay demo-clean e2e e2e-classes e2e-kuberay e2e-kuberay-long e2e-same e2e-v2 images install clean help
deps:
	@tools/apt-install.sh $(BUILD_PACKAGES)

test-deps: deps
	@tools/apt-install.sh $(TEST_PACKAGES)
	@e2e/kernel/deps.sh

# Compiling uses every core. Suites run side by side, as far as the cores go: see tools/side_by_side.py for what a line says.
CORES := $(or $(AFTERGLOW_CORES),$(shell nproc))
COMPILE = $(MAKE) --no-print-directory -j$(CORES)
SUITE = $(MAKE) --no-print-directory

# There is one cluster. The long ones begin first: what is left at the end runs beside little. Ray's pods keep a core and more busy, and
# so does a processor of the node in User Mode Linux: beside these runs only what mostly waits.
define TEST_SUITES
operator   0.75 -           e2e/run.sh operator
sanitizers 1    -           $(SUITE) -j2 SANITIZE=address,undefined sanitized
v2         0.75 -           $(SUITE) -j2 kernel-tests-v2
v1         0.75 -           $(SUITE) -j2 kernel-tests-v1
cores      0.5  -           $(SUITE) kernel-tests-cores
kernel     0.25 -           $(SUITE) kernel-tests-here
unit       0.5  -           $(SUITE) -j4 check-format unit-tests
wheel      0.25 -           $(SUITE) test-wheel
endef
define CLUSTER_SUITES
cluster    2.25 cluster     e2e/run.sh cluster
kuberay    2.25 cluster     e2e/run.sh kuberay
cluster-v2 2    cluster     e2e/run.sh cluster-v2-part
endef
define STORE_SUITES
stores     0.5  -           e2e/run.sh stores
browser    0.25 -           e2e/run.sh browser
endef
export TEST_SUITES CLUSTER_SUITES STORE_SUITES

test: test-programs
	+@exec tools/side_by_side.py "$$TEST_SUITES"

e2e: deps
	@tools/apt-install.sh python3
	+@$(COMPILE) all
	+@exec tools/side_by_side.py "$$CLUSTER_SUITES" "$$STORE_SUITES"

# Both, as continuous integration runs them. The cluster is the longest by far: it begins first, the others run beside it.
check: test-programs
	+@tools/side_by_side.py "$$CLUSTER_SUITES" "$$TEST_SUITES" "$$STORE_SUITES"
	@tools/support_matrix.py build/logs docs/support.md
# From the logs of the last make check.
support-matrix:
	@tools/support_matrix.py --write build/logs docs/support.md

test-programs: test-deps
	+@$(COMPILE) all shared unit-test-programs kernel-programs

sanitizer-tests:
	+@$(MAKE) --no-print-directory SANITIZE=address,undefined sanitized
# With SANITIZE.
sanitized: unit-test-programs fuzz-programs
	+@$(MAKE) --no-print-directory --keep-going unit-tests fuzz-replay

# The same as a cluster would keep of a leak, in a few seconds and without one.
TRY := $(BUILD)/try
try: deps
	+@$(COMPILE) $(BUILD)/afterglow-launch $(BUILD)/afterglow-sidecar $(BUILD)/afterglow-unwind \
		$(BUILD)/afterglow-pack $(BUILD)/test/hog $(BUILD)/test/crash
	@tools/try.sh $(BUILD)

demo: deps
	+@$(COMPILE) all
	@e2e/demo/demo.sh
# The same beside KubeRay's own operator, with a RayJob.
demo-kuberay: deps
	+@$(COMPILE) all
	@e2e/demo/kuberay.sh
demo-clean:
	@e2e/demo/demo-clean.sh

# Of these, every class of death and Ray's own voice.
e2e-classes: deps
	+@$(COMPILE) all
	+@e2e/run.sh classes

# Beside KubeRay's own operator; of that what takes longest, which continuous integration does not run each time; and what runs
# twice, with Afterglow and without it.
e2e-kuberay e2e-kuberay-long e2e-same: deps
	+@$(COMPILE) all
	+@e2e/run.sh $(@:e2e-%=%)

# On a node as production has it (cgroup v2, systemd, group kill), in User Mode Linux: its own cases, and those of the cluster that
# the node may change. Continuous integration runs a part of the former.
e2e-v2: deps
	+@$(COMPILE) all
	+@e2e/run.sh cluster-v2-long

# The operator's image holds the launchers of both architectures when both are asked for.
BOTH_LAUNCHERS := build/afterglow-launch build/arm64/afterglow-launch
ifneq ($(filter arm64 images-arm64,$(MAKECMDGOALS)),)
images images-arm64: export AFTERGLOW_LAUNCHERS := $(BOTH_LAUNCHERS)
endif
images: deps $(filter arm64,$(MAKECMDGOALS))
	+@$(COMPILE) all
	@images/build.sh $(if $(ARCH),--arch $(ARCH)) operator sidecar node

# What people without Kubernetes install: the programs for one machine, as a wheel of Python's. DIR/wheel has one at a time.
WHEEL_PROGRAMS := $(addprefix $(BUILD)/,afterglow-launch afterglow-sidecar afterglow-unwind afterglow-pack afterglow-ship kubectl-afterglow)
.PHONY: wheel
wheel: deps
	@tools/apt-install.sh python3
	+@$(COMPILE) $(WHEEL_PROGRAMS)
	@rm -rf $(BUILD)/wheel
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} \
		wheel/build.py $(BUILD) $(or $(ARCH),$(shell dpkg --print-architecture)) $(VERSION) $(BUILD)/wheel

# Installs it as an ordinary user of this machine, and lets things die.
.PHONY: test-wheel
test-wheel: wheel
	@tools/apt-install.sh python3-venv
	@e2e/wheel/install_test.sh
# The same in fresh roots of Debian with real Ray, as steps of a real Slurm on cgroup v1 or v2 of this machine and on v2, on two machines
# of one Ray cluster, with a memory limit of Ray's own; below PyTorch, in a notebook, by `ray up`; in the shape of WSL 2; below systemd's manager
# of a user; in and around Apptainer: an hour, packages of Debian and PyPI.
.PHONY: test-wheel-long
test-wheel-long: wheel kernel-programs
	@tools/apt-install.sh python3-venv
	@e2e/wheel/slurm_test.sh
	@e2e/kernel/uml.sh e2e/wheel/slurm_test.sh
	@e2e/wheel/machines_test.sh
	@e2e/wheel/limit_test.sh
	@e2e/wheel/jobs_test.sh
	@e2e/wheel/wsl_test.sh
	@e2e/wheel/systemd_test.sh
	@e2e/wheel/apptainer_test.sh
	@e2e/wheel/distributions.sh

# The same for arm64, on any machine. What of it runs here runs in an emulator, so these targets are none of `make check`.
.PHONY: arm64 images-arm64 test-arm64 release test-push test-first-screen check-workflows site
arm64: deps
	+@$(COMPILE) ARCH=arm64 all

images-arm64: deps
	+@$(COMPILE) build/afterglow-launch
	+@$(COMPILE) ARCH=arm64 images

define ARM64_SUITES
arm64-cores 1 - $(SUITE) arm64-kernel-tests-cores
arm64-kernel 1 - $(SUITE) arm64-kernel-tests
arm64-oom 1 - $(SUITE) arm64-kernel-tests-oom
arm64-16k 1 - $(SUITE) arm64-kernel-tests-16k
arm64-own 1 - $(SUITE) arm64-unit-tests
arm64-unit 1 - $(SUITE) ARCH=arm64 -j2 unit-tests
endef
export ARM64_SUITES
test-arm64: deps
	@tools/apt-install.sh busybox-static cpio python3 qemu-system-arm qemu-user-static
	+@$(COMPILE) ARCH=arm64 all unit-test-programs kernel-programs build/arm64/machine build/arm64/machine-16k
	+@exec tools/side_by_side.py "$$ARM64_SUITES"

# What a release publishes, into build/release.
release: deps
	@tools/apt-install.sh openssh-client python3 skopeo
	@tools/release_signature_test.py
	+@$(COMPILE) all
	+@$(COMPILE) ARCH=arm64 all
	+@$(MAKE) --no-print-directory plugin-darwin
	+@$(MAKE) --no-print-directory wheel
	+@$(MAKE) --no-print-directory ARCH=arm64 wheel
	@images/release.sh

# That images/push.sh brings its images to a registry and signs them there.
test-push:
	@tools/apt-install.sh python3 skopeo
	@tools/push_test.py

# README's first screen, from the release in build/release: registry and package index on loopback, KubeRay and real Ray.
test-first-screen:
	@e2e/release/first_screen.sh

# Their jobs in fresh roots of Debian, which have nothing but apt: the release, and the build on Debian 12 and 13. Half an hour, nothing cached.
.PHONY: test-workflows
test-workflows:
	@tools/apt-install.sh git mmdebstrap python3-yaml
	@e2e/release/workflow_job.py release.yml release
	@for suite in bookworm trixie; do e2e/release/workflow_job.py test.yml build --suite $$suite || exit; done

# .github/workflows, as GitHub reads them.
check-workflows:
	@tools/actionlint.sh

# The pages of docs/ as a site, in build/site, that needs no network where it is read. SITE_REPOSITORY: where links to files of the tree lead.
site:
	@docs/site/build.sh

# The operator against a real kube-apiserver: all of it under ASan, LSan and UBSan; its long scenarios under memcheck; ten
# thousand reconciles over fifty restarts of the API server.
.PHONY: operator-sanitized valgrind soak kuberay-compare
operator-sanitized: test-deps
	+@$(COMPILE) SANITIZE=address,undefined all shared
	@AFTERGLOW_BUILD=build/address-undefined ASAN_OPTIONS=detect_leaks=1:verify_asan_link_order=0 e2e/run.sh operator

valgrind: test-deps
	@tools/apt-install.sh valgrind
	+@$(COMPILE) all shared
	@AFTERGLOW_WRAP="valgrind -q --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
		--error-exitcode=99" e2e/run.sh operator \
		-k "killed_worker or api_server_killed or suspended_and or lost_answer or every_write or sigterm or crds_deleted or autoscaler"

# What KubeRay's own operator makes of the same manifests, member by member; RECORD=1 records it anew.
kuberay-compare: test-deps
	+@$(COMPILE) all
	@e2e/kuberay/compare.sh

# The libraries by which Argo CD and Flux look for drift, on what the chart installs. For releases: they take five minutes to compile.
.PHONY: test-gitops
test-gitops: test-deps
	+@$(COMPILE) all shared
	@e2e/run.sh gitops

# Whether afterglow-ship gets on with MinIO, SeaweedFS and Ceph. For releases: MinIO takes five minutes to compile.
.PHONY: test-s3-servers
test-s3-servers: deps
	@e2e/run.sh s3-servers

# The operator against a kube-apiserver of each older line of Kubernetes that is still maintained; they are built once. For releases.
KUBERNETES_VERSIONS := 1.34.4 1.35.4 1.36.3
.PHONY: test-kubernetes-versions
test-kubernetes-versions: test-deps
	+@$(COMPILE) all shared
	@for version in $(KUBERNETES_VERSIONS); do \
		echo "== Kubernetes $$version"; AFTERGLOW_KUBERNETES=$$version e2e/run.sh operator || exit; done

# The operator and the chart beside a KubeRay that is newer than the pinned one. For releases.
KUBERAY_VERSIONS := v1.7.0
.PHONY: test-kuberay-versions
test-kuberay-versions: test-deps
	+@$(COMPILE) all shared
	@for version in $(KUBERAY_VERSIONS); do export AFTERGLOW_KUBERAY_VERSION=$$version; \
		e2e/run.sh operator -k test_kuberay_samples && e2e/run.sh kuberay || exit; done

soak: test-deps
	+@$(COMPILE) all
	@e2e/run.sh soak -s

# Which mistakes it looks for: .clang-tidy. It prints nothing where there is none.
TIDIED := $(wildcard lib/*.c lib/*/*.c node/*.c plugin/*.c sidecar/*.c sidecar/*/*.c operator/*.c operator/*/*.c)
.PHONY: tidy
tidy: deps
	@tools/apt-install.sh clang-tidy
	@printf '%s\n' $(filter-out %_test.c %_fuzz.c,$(TIDIED)) | xargs -P $(CORES) -I FILE sh -c \
		'clang-tidy --quiet FILE -- -std=gnu11 -D_GNU_SOURCE -I. -include lib/banned.h "-DAFTERGLOW_VERSION=\"$(VERSION)\"" 2>/dev/null'

# The product's C is as .clang-format lays it out; tables stand between "clang-format off" and "on". The tests have more tables than code:
# of them it lays out the lines that were changed since FORMAT_BASE.
FORMAT_BASE ?= HEAD
FORMATTED = find bench e2e lib node operator plugin sidecar tools -name '*.[ch]' ! -name '*_test.c' ! -name '*_fuzz.c' ! -name '*testing*'
.PHONY: format check-format
format:
	@bin=$$(e2e/venv.sh)/bin && $(FORMATTED) | xargs -P $(CORES) -n 50 $$bin/clang-format -i && \
		git diff -U0 --no-color $(FORMAT_BASE) -- '*_test.c' '*_fuzz.c' '*testing*' | $$bin/clang-format-diff.py -p1 -i -binary $$bin/clang-format
	@git diff --stat
# Names the lines that differ.
check-format:
	@bin=$$(e2e/venv.sh)/bin && $(FORMATTED) | xargs -P $(CORES) -n 50 $$bin/clang-format --dry-run --Werror

PREFIX ?= /usr/local
install: deps
	+@$(COMPILE) all man
	install -D -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS) plugin/kubectl_complete-afterglow
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(BUILD)/man/*.1

clean:
	rm -rf build

help:
	@echo 'make              build the programs into build/'
	@echo 'make shared       the static ones of these with shared libraries, into build/shared/'
	@echo 'make deps         install what building needs (Debian packages)'
	@echo 'make try          a leak, its OOM kill and its report, without Kubernetes'
	@echo 'make demo         the same on a real Kubernetes with Ray (KUBECONFIG_DEMO=path: on yours); make demo-clean'
	@echo 'make demo-kuberay the same beside KubeRay, with a RayJob'
	@echo 'make test         unit tests, sanitizers, real kernels, a real kube-apiserver'
	@echo 'make e2e          tests on a real cluster with real Ray'
	@echo 'make check        both of them, in less time than one after the other'
	@echo 'make e2e-classes  of these, each class of death and what Ray says of it'
	@echo 'make e2e-v2       deaths on a node with cgroup v2 and systemd, in User Mode Linux'
	@echo 'make e2e-kuberay  of these, the chart beside KubeRay; make e2e-kuberay-long: its zero-downtime upgrades'
	@echo 'make e2e-same     of these, the pods and clusters that run twice, with Afterglow and without it, and are compared'
	@echo 'make fuzz         fuzz every parser (FUZZ_SECONDS=60 each)'
	@echo 'make bench        the figures behind each performance claim; make bench-operator: beside KubeRay; make bench-webhook: its admissions'
	@echo 'make valgrind     the long scenarios of the operator under memcheck; make operator-sanitized: all under ASan'
	@echo 'make test-gitops  the libraries of Argo CD and Flux look for drift in what the chart installs'
	@echo 'make test-s3-servers  what is shipped to S3, against MinIO, SeaweedFS and Ceph'
	@echo 'make soak         10,000 reconciles and 50 restarts of the API server, and the memory they took'
	@echo 'make test-kubernetes-versions  the operator against the API servers of $(KUBERNETES_VERSIONS)'
	@echo 'make man          man pages of kubectl afterglow into build/man/'
	@echo 'make tidy         what clang-tidy finds in the sources'
	@echo 'make format       lay out the C code, and of the tests the lines that you changed (FORMAT_BASE=main: since the branch began)'
	@echo 'make kuberay-compare  RayClusters made by KubeRay and by this operator, compared member by member'
	@echo 'make wheel        afterglow-ray for pip, into build/wheel/; with ARCH=arm64 into build/arm64/wheel/'
	@echo 'make test-wheel   what people see who install it without Kubernetes and without root; make test-wheel-long: Slurm, two machines, Debian 11 to 13'
	@echo 'make images       container images into build/images/'
	@echo 'make arm64        the programs for arm64, into build/arm64/; make images-arm64: their images'
	@echo 'make test-arm64   their unit tests and kernel tests, emulated'
	@echo 'make plugin-darwin  kubectl afterglow for macOS, into build/darwin-amd64/ and build/darwin-arm64/'
	@echo 'make release      images for both in one index, and the plugin for four platforms, into build/release/ (RELEASE_URL, RELEASE_KEY)'
	@echo 'make test-push    images/push.sh: the images of build/release in a registry on loopback, signed by cosign'
	@echo 'make test-first-screen  the commands that README begins with, from build/release, on the local cluster'
	@echo 'make check-workflows  .github/workflows, by actionlint'
	@echo 'make site         the pages of docs/ as a site, into build/site/'
	@echo 'Knobs: SANITIZE=address,undefined  DEBUG=1  V=1  ARCH=arm64'

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
