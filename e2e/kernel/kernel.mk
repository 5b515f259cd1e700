# SPDX-License-Identifier: Apache-2.0
# Tests on a real kernel. Included by the Makefile.
KERNEL_TEST_TOOLS := $(BUILD)/test/hog $(BUILD)/test/probe $(BUILD)/test/contain $(BUILD)/test/core_taker
KERNEL_TESTS := $(BUILD)/test/oom_loop $(BUILD)/test/recovery_loop
# The launcher's tests are a program for each topic. The command line may say which: make launch-test LAUNCH_TOPICS=hooks
LAUNCH_TOPICS := $(patsubst e2e/kernel/launch_%_test.c,%,$(wildcard e2e/kernel/launch_*_test.c))
LAUNCH_TESTS := $(LAUNCH_TOPICS:%=$(BUILD)/test/launch_%_test)

# What dies in the tests is static: its memory is its own, and it runs in any machine.
$(KERNEL_TEST_TOOLS): $(BUILD)/test/%: e2e/kernel/%.c Makefile | $(SYSROOT)
	$(call say,MUSL,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O1 -g0 -static -Wl,-s -o $@ $<

# With symbols: its crash is to be found by name.
$(BUILD)/test/crash: e2e/kernel/crash.c Makefile | $(SYSROOT)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O1 -g -o $@ $< -lpthread

$(KERNEL_TESTS): $(BUILD)/test/%: $(BUILD)/obj/e2e/kernel/%.o $(call objects,$(LIB) $(DIGEST))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SIDECAR_LIBS)

# Makes memory cgroups itself.
$(BUILD)/test/recovery_loop: $(call objects,sidecar/memcg_make.c $(call modules,sidecar/sample))

$(LAUNCH_TESTS): $(BUILD)/test/%: $(BUILD)/obj/e2e/kernel/%.o $(BUILD)/obj/e2e/kernel/launch_testing.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka

.PHONY: kernel-programs launch-test oom-loop kernel-tests kernel-tests-here kernel-tests-oom
kernel-programs: $(BUILD)/afterglow-launch $(BUILD)/afterglow-sidecar $(BUILD)/afterglow-ship $(BUILD)/afterglow-pack $(BUILD)/afterglow-unwind $(BUILD)/afterglow-node $(BUILD)/test/crash $(KERNEL_TEST_TOOLS) $(KERNEL_TESTS) $(LAUNCH_TESTS)

# Builds no more than these tests need.
launch-test: $(LAUNCH_TESTS) $(BUILD)/test/probe $(BUILD)/afterglow-launch
	$(Q)AFTERGLOW_BUILD=$(BUILD) e2e/kernel/launch_test.sh $(LAUNCH_TOPICS)

# The launcher that ships is static; this one is the same source where sanitizers can be linked.
SANITIZED := build/address-undefined
$(SANITIZED)/test/afterglow-launch: $(LAUNCHER) $(wildcard sidecar/launch/*.h) Makefile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -I. -DAFTERGLOW_VERSION='"$(VERSION)"' $(WARNINGS) -Og -g3 \
		-ffunction-sections -Wl,--gc-sections -fsanitize=address,undefined -fno-sanitize-recover=all -o $@ $(LAUNCHER)

# Leaks cannot be looked for where the test takes /proc, the environment or descriptors away.
.PHONY: kernel-tests-sanitized
kernel-tests-sanitized: kernel-programs $(SANITIZED)/test/afterglow-launch
	+@$(MAKE) --no-print-directory SANITIZE=address,undefined kernel-programs
	$(Q)AFTERGLOW_BUILD=$(BUILD) AFTERGLOW_LAUNCH=$(SANITIZED)/test/afterglow-launch ASAN_OPTIONS=detect_leaks=0 \
		e2e/kernel/launch_test.sh $(LAUNCH_TOPICS)
	$(Q)AFTERGLOW_BUILD=$(SANITIZED) e2e/kernel/exec_test.sh
	$(Q)AFTERGLOW_BUILD=$(SANITIZED) ASAN_OPTIONS=detect_leaks=0:disable_coredump=0 e2e/kernel/cores_test.sh
	$(Q)AFTERGLOW_BUILD=$(SANITIZED) e2e/kernel/unwind_test.py Native Python Damaged
	$(Q)AFTERGLOW_BUILD=$(SANITIZED) $(SANITIZED)/test/oom_loop --jobs 2 24
	$(Q)AFTERGLOW_BUILD=$(SANITIZED) $(SANITIZED)/test/recovery_loop --jobs 2 24

# A test is a target, run-MACHINE-NAME: it can be run alone, and again. NAME is a script NAME_test in e2e/kernel, or a loop of deaths.
# MACHINE is "here" for this machine's kernel, "v1" or "v2" for a machine of its own with that version of cgroups (vm.sh).
OOM_LOOP ?= 60
OOM_LOOP_VM ?= 20
RECOVERY_LOOP ?= 20
RECOVERY_LOOP_VM ?= 8
OOM_TESTS := kernel_log oom_cause cgroups node_signals pods exec late leave oom_loop oom_group_loop recovery_loop
# power_loss starts machines by itself.
HERE_TESTS := $(addprefix run-here-,launch unwind hangs cores hostile neighbour freeze spool http power_loss)
HERE_OOM_TESTS := $(addprefix run-here-,$(OOM_TESTS))
# What needs python3 or the whole of bash is not for a machine.
V1_TESTS := $(addprefix run-v1-,$(OOM_TESTS))
V2_TESTS := $(addprefix run-v2-,$(OOM_TESTS) launch node_early node_kills node_kind node_oom)
V2_CORE_TESTS := $(addprefix run-v2-,cores node_cores node_systemd)
# What a loop of deaths is called with, here or in a machine.
loop = $(BUILD)/test/$(1) $(if $(filter here,$(2)),--jobs 2 )
LOOP_oom_loop = $(call loop,oom_loop,$(1))$(if $(filter here,$(1)),$(OOM_LOOP),$(OOM_LOOP_VM))
LOOP_oom_group_loop = $(call loop,oom_loop,$(1))--oom-group $(if $(filter here,$(1)),$(OOM_LOOP),$(OOM_LOOP_VM))
LOOP_recovery_loop = $(call loop,recovery_loop,$(1))$(if $(filter here,$(1)),$(RECOVERY_LOOP),$(RECOVERY_LOOP_VM))
kernel_test = $(or $(call LOOP_$(1),$(2)),$(wildcard e2e/kernel/$(1)_test.sh e2e/kernel/$(1)_test.py),e2e/kernel/$(1)_test.sh)

KERNEL_RUNS := $(HERE_TESTS) $(HERE_OOM_TESTS) $(V1_TESTS) $(V2_TESTS) $(V2_CORE_TESTS)
.PHONY: $(KERNEL_RUNS) kernel-tests-v1 kernel-tests-v2 kernel-tests-cores
$(filter run-here-%,$(KERNEL_RUNS)): run-here-%: kernel-programs
	@echo "== $*, on this machine"
	$(Q)AFTERGLOW_BUILD=$(BUILD) $(call kernel_test,$*,here)
$(filter run-v1-%,$(KERNEL_RUNS)): run-v1-%: kernel-programs
	@echo "== $*, on cgroup v1"
	$(Q)AFTERGLOW_BUILD=$(BUILD) AFTERGLOW_VM_CGROUP=v1 e2e/kernel/vm.sh $(call kernel_test,$*,v1)
$(filter run-v2-%,$(KERNEL_RUNS)): run-v2-%: kernel-programs
	@echo "== $*, on cgroup v2"
	$(Q)AFTERGLOW_BUILD=$(BUILD) $(VM_$*) e2e/kernel/vm.sh $(call kernel_test,$*,v2)
# Debian's systemd-coredump in the machine.
VM_node_systemd = AFTERGLOW_VM_ROOT=$$(e2e/kernel/systemd_root.sh)

KERNEL_SUITE = +$(Q)$(MAKE) --no-print-directory --keep-going --output-sync=target
kernel-tests: kernel-tests-here kernel-tests-oom kernel-tests-v1 kernel-tests-v2 kernel-tests-cores
kernel-tests-here: kernel-programs
	$(KERNEL_SUITE) $(HERE_TESTS)
# What has the kernel write reports of OOM kills to its log; nothing else may do so at the same time.
kernel-tests-oom: kernel-programs
	$(KERNEL_SUITE) -j1 $(HERE_OOM_TESTS)
kernel-tests-v1: kernel-programs
	$(KERNEL_SUITE) $(V1_TESTS)
kernel-tests-v2: kernel-programs
	$(KERNEL_SUITE) $(V2_TESTS)
kernel-tests-cores: kernel-programs
	$(KERNEL_SUITE) $(V2_CORE_TESTS)

# By hand, because it takes minutes on a busy machine: a store on a real NFS server.
.PHONY: nfs-test
nfs-test: kernel-programs
	$(Q)AFTERGLOW_BUILD=$(BUILD) AFTERGLOW_VM_MODULES='nfsd nfsv3 nfsv4 veth loop' AFTERGLOW_VM_ROOT=$$(e2e/kernel/nfs_root.sh) \
		e2e/kernel/vm.sh e2e/kernel/nfs_test.sh

# The same tests for arm64, in an emulated arm64 machine; only make test-arm64 runs them. Tests that need python3 are not among them,
# because the machine has none. They take as long as in the machine with cgroup v2.
ARM64_VM := AFTERGLOW_VM_ARCH=arm64 e2e/kernel/vm.sh
# Linux 6.12 with pages of 16 KiB. Debian has no kernel with pages of 64 KiB.
ARM64_16K_VM := AFTERGLOW_VM_ARCH=arm64-16k e2e/kernel/vm.sh
# The unit tests that an emulator of single programs cannot run, except three of the operator: one needs bash, and two are too slow here, too.
ARM64_UNIT_TESTS := $(filter-out operator/injection/% operator/webhook/%,$(NEED_OWN_KERNEL))
.PHONY: arm64-unit-tests arm64-kernel-tests arm64-kernel-tests-oom arm64-kernel-tests-cores arm64-kernel-tests-16k
arm64-unit-tests:
	$(Q)AFTERGLOW_VM_PROGRAMS="$(ARM64_UNIT_TESTS)" AFTERGLOW_VM_FILES=sidecar/pack/testdata/fuzz $(ARM64_VM) \
		e2e/kernel/unit_tests_test.sh $(ARM64_UNIT_TESTS)
arm64-kernel-tests:
	$(Q)$(ARM64_VM) e2e/kernel/launch_test.sh $(LAUNCH_TOPICS)
	$(Q)$(ARM64_VM) e2e/kernel/exec_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/late_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/leave_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/node_signals_test.sh
	$(Q)$(ARM64_VM) build/test/recovery_loop $(RECOVERY_LOOP_VM)
arm64-kernel-tests-oom:
	$(Q)$(ARM64_VM) e2e/kernel/kernel_log_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/oom_cause_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/cgroups_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/pods_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/node_oom_test.sh
	$(Q)$(ARM64_VM) build/test/oom_loop $(OOM_LOOP_VM)
	$(Q)$(ARM64_VM) build/test/oom_loop --oom-group $(OOM_LOOP_VM)
arm64-kernel-tests-cores:
	$(Q)$(ARM64_VM) e2e/kernel/core_of_machine_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/cores_test.sh
	$(Q)$(ARM64_VM) e2e/kernel/node_cores_test.sh
arm64-kernel-tests-16k:
	$(Q)AFTERGLOW_VM_PROGRAMS=node/core_file_test $(ARM64_16K_VM) e2e/kernel/unit_tests_test.sh node/core_file_test
	$(Q)$(ARM64_16K_VM) e2e/kernel/core_of_machine_test.sh
	$(Q)$(ARM64_16K_VM) build/test/oom_loop $(OOM_LOOP_VM)

# Not in CI, as it takes minutes and most of a processor: real Ray, on cgroup v2 under User Mode Linux.
.PHONY: ray-isolation-test
ray-isolation-test: kernel-programs
	$(Q)root=$$(e2e/kernel/ray_root.sh) && AFTERGLOW_BUILD=$(BUILD) AFTERGLOW_VM_MEMORY=4096 AFTERGLOW_UML_ROOT=$$root \
		e2e/kernel/uml.sh e2e/kernel/ray_isolation_test.sh

# Not in CI, as it takes minutes: real Ray hangs in twelve ways, and its stacks say where.
.PHONY: ray-hangs-test
ray-hangs-test: kernel-programs
	$(Q)tools/apt-install.sh cython3 python3-dev python3-torch && AFTERGLOW_BUILD=$(BUILD) e2e/kernel/ray_hangs_test.sh

# Not in CI either: a process waits for a real NFS server that has stopped, under User Mode Linux.
.PHONY: nfs-hang-test
nfs-hang-test: kernel-programs
	$(Q)AFTERGLOW_BUILD=$(BUILD) e2e/kernel/uml.sh e2e/kernel/nfs_hang_test.sh

# The long one: what the claim "every OOM death is explained" rests on.
oom-loop:
	+@$(MAKE) --no-print-directory kernel-tests OOM_LOOP=1000 OOM_LOOP_VM=200 RECOVERY_LOOP=200 RECOVERY_LOOP_VM=40

# Deaths that nobody tuned the verdicts for: e2e/deaths/README.md.
DEATH_TOOLS := $(patsubst e2e/deaths/%.c,$(BUILD)/test/%,$(wildcard e2e/deaths/*.c))
$(DEATH_TOOLS): $(BUILD)/test/%: e2e/deaths/%.c Makefile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -Wno-infinite-recursion -fstack-protector-strong -O1 -g -o $@ $< -lpthread

.PHONY: deaths
deaths: kernel-programs $(DEATH_TOOLS)
	$(Q)AFTERGLOW_BUILD=$(BUILD) e2e/deaths/run.py $(DEATHS)
	$(Q)AFTERGLOW_BUILD=$(BUILD) e2e/deaths/run.py --vm $(DEATHS)
