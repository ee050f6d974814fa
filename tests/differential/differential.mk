# The differential tester: random programs, plain and under the library.
#
#   make check-differential            2000 programs, a part of check-run when no tests are chosen
#   make check-differential-long       100 000 programs
#   make check-differential DIFFERENTIAL='-r SEED -x SKIPS'    replays one program and shows what it saw
#   make check-differential DIFFERENTIAL='-s 5000 -n 100'      other programs; -d FOLDER: another file system

DIFFERENTIAL_DRIVER := $(B)/tests/differential/driver
DIFFERENTIAL_PLAYER := $(B)/tests/differential/player
DIFFERENTIAL_PARTS := $(patsubst %.c,$(B)/%.o,$(filter-out %/driver.c,$(wildcard tests/differential/*.c)))
DIFFERENTIAL ?= -n 2000

.PHONY: check-differential check-differential-long

$(DIFFERENTIAL_PLAYER): $(DIFFERENTIAL_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(DIFFERENTIAL_DRIVER): $(B)/tests/differential/driver.o
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

check-differential: $(DIFFERENTIAL_DRIVER) $(DIFFERENTIAL_PLAYER) all
	$(Q)$(DIFFERENTIAL_DRIVER) $(DIFFERENTIAL) -L $(B)/libxfershim.so -P $(DIFFERENTIAL_PLAYER)

check-differential-long: $(DIFFERENTIAL_DRIVER) $(DIFFERENTIAL_PLAYER) all
	$(Q)$(DIFFERENTIAL_DRIVER) -s 1000000 -n 100000 -L $(B)/libxfershim.so -P $(DIFFERENTIAL_PLAYER)

ifeq ($(TESTS)$(FILTER),)
check-run: check-differential
endif
