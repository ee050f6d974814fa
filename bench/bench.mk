bench_loop := $(patsubst %.c,$(B)/%.o,bench/loop.c $(wildcard bench/loop_*.c))
bench_gain := $(patsubst %.c,$(B)/%.o,bench/gain.c $(wildcard bench/gain_*.c))
bench_overhead := $(patsubst %.c,$(B)/%.o,bench/overhead.c $(wildcard bench/overhead_*.c))
bench_common := $(patsubst %.c,$(B)/%.o,$(wildcard bench/common_*.c))
bench_programs := $(B)/bench/loop $(B)/bench/gain $(B)/bench/overhead

ALL += $(bench_programs) $(B)/bench/empty.so
DEMO_DEPS += coreutils cpio perl-base python3

$(B)/bench/loop: $(bench_loop)
$(B)/bench/gain: $(bench_gain) $(bench_common)
$(B)/bench/overhead: $(bench_overhead) $(bench_common)

$(bench_programs):
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lbsd -lm

$(B)/bench/empty.so: bench/empty.c $(B)/flags
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(PRELOAD_CFLAGS) $(LDFLAGS) -shared -o $@ $<

.PHONY: demo-run bench-gain bench-share bench-overhead

demo-run: all
	@$(B)/bench/gain --suite demo --pairs 3 --budget 4

# The tables of the README. The compile among the rows runs a make of its own.
bench-gain: all
	@$(B)/bench/gain --suite main --suite still --csv $(B)/bench/gain.csv --markdown $(B)/bench/gain.md

# Root only: mounts images of XFS and btrfs.
bench-share: all
	@bench/share.sh $(B)

bench-overhead: all
	@$(B)/bench/overhead
