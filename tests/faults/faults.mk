# Faults on purpose. What they need beside the library: itself with a gate that fails on request, and a small
# file system in user space, where libfuse is there to build it.
CHECK_DEPS += libfuse3-dev

#   make check-faults-all    every errno on every call, where `make check` tries some of them
.PHONY: check-faults-all
check-faults-all:
	$(Q)FAULT_ALL=1 $(MAKE) --no-print-directory check-run \
	    TESTS='$(patsubst tests/%.c,%,$(sort $(wildcard tests/faults/*.c)))'

FAULT_GATE := $(B)/tests/faults/libfaultgate.so
FAULT_OBJS = $(filter-out %/gate.o,$(SHIM_OBJS) $(CORE_OBJS))

$(B)/tests/faults/gate/real.o: core/arch/$(arch)/gate.S $(B)/flags
	@mkdir -p $(@D)
	$(say) AS $@
	$(Q)$(CC) $(CFLAGS) $(PRELOAD_CFLAGS) -Dxfer_gate_call=fault_real_call -c -o $@ $<

$(B)/tests/faults/gate/gate.o: tests/faults/gate/gate.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(PRELOAD_CFLAGS) -MMD -MP -c -o $@ $<

$(FAULT_GATE): $(B)/tests/faults/gate/real.o $(B)/tests/faults/gate/gate.o $(B)/libxfershim.so
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(PRELOAD_CFLAGS) $(SHIM_LDFLAGS) $(LDFLAGS) \
	    -Wl,--version-script,$(B)/libxfershim.map -o $@ $(FAULT_OBJS) $(filter %.o,$^) $(LIBBSD_A)

FAULT_FUSE := $(if $(wildcard /usr/include/fuse3/fuse.h),$(B)/tests/faults/faultfs)

$(B)/tests/faults/faultfs: tests/faults/fuse/faultfs.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -I/usr/include/fuse3 -MMD -MP -MF $@.d -o $@ $< -lfuse3 -lpthread

FAULT_HELPERS := $(FAULT_GATE) $(FAULT_FUSE)
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/faults/*.c)): | $(FAULT_HELPERS)
