# The kill tester: copy loops under the library that die at any instant (C4, B1, A23).
#
#   make check-kill                     1000 kills, a part of check-run when no tests are chosen
#   make check-kill KILLS=10000         more; KILL='-s SEED' other ones, KILL='-p xfs' in one place
#   make check-kill KILL='-s SEED -k NUMBER'   repeats one kill and shows it
#   make check-kill-long                10 000 kills

KILL_DRIVER := $(B)/tests/kill/kill
KILL_COPIER := $(B)/tests/kill/copier
KILL_PARTS := $(patsubst %.c,$(B)/%.o,$(filter-out %/copier.c,$(wildcard tests/kill/*.c)))
KILLS ?= 1000
KILL ?=

.PHONY: check-kill check-kill-long

$(KILL_DRIVER): $(KILL_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(KILL_COPIER): $(B)/tests/kill/copier.o
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

check-kill: $(KILL_DRIVER) $(KILL_COPIER) all
	$(Q)$(KILL_DRIVER) -n $(KILLS) $(KILL) -L $(B)/libxfershim.so -P $(KILL_COPIER) -d $(B)/tests

check-kill-long: $(KILL_DRIVER) $(KILL_COPIER) all
	$(Q)$(KILL_DRIVER) -n 10000 -s 1000000 -L $(B)/libxfershim.so -P $(KILL_COPIER) -d $(B)/tests

CHECK_LONG += check-kill-long

ifeq ($(TESTS)$(FILTER),)
check-run: check-kill
endif
