# The differential tester: random programs, plain and under the library.
#
#   make check-differential            2000 programs, a part of check-run when no tests are chosen
#   make check-differential-long       100 000 programs
#   make check-coverage                how much of the library they run, and whether that is enough
#   make check-differential DIFFERENTIAL='-r SEED -x SKIPS'    replays one program and shows what it saw
#   make check-differential DIFFERENTIAL='-s 5000 -n 100'      other programs; -d FOLDER: another file system

DIFFERENTIAL_DRIVER := $(B)/tests/differential/driver
DIFFERENTIAL_PLAYER := $(B)/tests/differential/player
DIFFERENTIAL_DRIVER_PARTS := $(patsubst %,$(B)/tests/differential/%.o,driver kernels)
DIFFERENTIAL_PARTS := $(filter-out $(DIFFERENTIAL_DRIVER_PARTS),$(patsubst %.c,$(B)/%.o,$(wildcard tests/differential/*.c)))
DIFFERENTIAL ?= -n 2000

.PHONY: check-differential check-differential-long check-coverage

$(DIFFERENTIAL_PLAYER): $(DIFFERENTIAL_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(DIFFERENTIAL_DRIVER): $(DIFFERENTIAL_DRIVER_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

check-differential: $(DIFFERENTIAL_DRIVER) $(DIFFERENTIAL_PLAYER) all
	$(Q)$(DIFFERENTIAL_DRIVER) $(DIFFERENTIAL) -L $(B)/libxfershim.so -P $(DIFFERENTIAL_PLAYER)

check-differential-long: $(DIFFERENTIAL_DRIVER) $(DIFFERENTIAL_PLAYER) all
	$(Q)$(DIFFERENTIAL_DRIVER) -e -s 1000000 -n 100000 -L $(B)/libxfershim.so -P $(DIFFERENTIAL_PLAYER)

# Percent of the lines of session, window and guard.
check-coverage:
	$(Q)COVERAGE='$(B)/coverage' tests/differential/coverage 90 -n 4000

CHECK_LONG += check-coverage
check-coverage.minutes := 8
CHECK_LONG_DEPS += xfsprogs

ifeq ($(TESTS)$(FILTER),)
check-run: check-differential
endif
