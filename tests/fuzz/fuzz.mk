# The fuzzer of the fused stream: a byte string drives a loop and all that may go wrong around it (stream_fuzz.c).
#
#   make check-fuzz                          3000 random inputs, a part of check-run when no tests are chosen
#   make check-fuzz FUZZ='-s 7 -n 100000'    other inputs; FUZZ=FILE: one that was left
#   make check-fuzz-long                     libFuzzer (clang), FUZZ_SECONDS of them, with ASan and UBSan
#   make fuzz-breaks                         breaks the stream in copies of it: each break must be found

FUZZ ?= -n 3000
FUZZ_SECONDS ?= 300
FUZZ_CORE := $(patsubst %,core/%.c,stream window proof share lease endpoint engine_write engine_range)
FUZZ_TARGET := tests/fuzz/stream_fuzz.c tests/fuzz/kernel.c
FUZZ_NEEDS := $(FUZZ_TARGET) $(FUZZ_CORE) $(wildcard core/*.h tests/fuzz/*.h) tests/fuzz/fuzz.mk
FUZZ_CLANG := $(firstword $(shell command -v clang 2>/dev/null))

CHECK_LONG += check-fuzz-long
CHECK_LONG_DEPS += clang libclang-rt-14-dev|libclang-rt-dev

.PHONY: check-fuzz check-fuzz-long fuzz-breaks

$(B)/tests/fuzz/driver: tests/fuzz/driver.c $(FUZZ_NEEDS) $(B)/flags
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ tests/fuzz/driver.c $(FUZZ_TARGET) $(FUZZ_CORE)

check-fuzz: $(B)/tests/fuzz/driver
	$(Q)FUZZ_LEFT=$(B)/tests/fuzz/broken-input $< $(FUZZ)

$(B)/tests/fuzz/stream_fuzz: $(FUZZ_NEEDS)
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(FUZZ_CLANG) -std=gnu11 -D_GNU_SOURCE -O2 -g -Icore -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all -o $@ $(FUZZ_TARGET) $(FUZZ_CORE)

ifeq ($(FUZZ_CLANG),)
check-fuzz-long:
	@echo 'skipped: clang is not installed'
else
check-fuzz-long: $(B)/tests/fuzz/stream_fuzz $(B)/tests/fuzz/driver
	@mkdir -p $(B)/tests/fuzz/corpus
	$(Q)$(B)/tests/fuzz/driver -c $(B)/tests/fuzz/corpus -n 100 -s 1
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -max_len=1024 -timeout=60 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=$(B)/tests/fuzz/ $(B)/tests/fuzz/corpus
endif

fuzz-breaks: $(B)/tests/fuzz/driver
	$(Q)CC='$(CC)' tests/fuzz/breaks $(B)/tests/fuzz/broken $(FUZZ_TARGET) tests/fuzz/driver.c -- $(FUZZ_CORE)

ifeq ($(TESTS)$(FILTER),)
check-run: check-fuzz
endif

# The unit tests and the core with AddressSanitizer and UndefinedBehaviorSanitizer, in build/sanitize.
CHECK_LONG += check-sanitize
.PHONY: check-sanitize
check-sanitize:
	$(Q)$(MAKE) --no-print-directory SANITIZE=1 TESTS='unit/%' check-run
