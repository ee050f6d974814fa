# Tests. Each tests/FOLDER/NAME.c of the folders below is one Criterion program, build/tests/FOLDER/NAME;
# each tests/victims/NAME.c is one small program for the others to run plain and under the shim.
#
#   make check-run                          every test; the last line is "N passed, N failed, N skipped"
#   make check-run TESTS='hazards/middle'   only these programs
#   make check-run FILTER='*/A13*'          only these tests (suite/name, a glob) of them
#   make contract                           writes tests/CONTRACT.md anew: after tests came or went
#   make check-long                         everything that takes longer, in at most 60 minutes
#   make check-long LONG='suite-tcl'        only these parts

CHECK_DEPS += e2fsprogs xfsprogs btrfs-progs

# Folders whose C files are test programs.
TEST_FOLDERS := unit hazards launcher apps audits hosts
# The names of the programs, as hazards/middle.
TEST_NAMES := $(patsubst tests/%.c,%,$(sort $(wildcard $(TEST_FOLDERS:%=tests/%/*.c))))
TEST_VICTIMS := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/victims/*.c)))
TEST_SUITES := $(sort $(wildcard tests/suites/*.sh))
TEST_CFLAGS = $(CPPFLAGS) $(CFLAGS) -Itests/support

# Two things that a test's own tests/FOLDER/*.mk may say: objects beside the library that it links, as in
#   tests/unit/detect.objects := $(UNIT)/shim/detect.o
# and that its tests measure time and have to run one by one:
#   TESTS_ALONE += hazards/killed
-include $(sort $(wildcard $(TEST_FOLDERS:%=tests/%/*.mk)))

# What check-long runs: targets, added to by the files below, `NAME.minutes := N` for what needs more than 3.
CHECK_LONG :=
CHECK_LONG_DEPS := $(CHECK_DEPS) strace dpkg-dev

-include tests/differential/differential.mk
-include tests/fuzz/fuzz.mk
-include tests/kill/kill.mk

# Unit tests are built with the sanitizers where those are asked for; the others run other programs.
test_folder = $(if $(filter unit/%,$1),$(UNIT),$(B))
test_program = $(call test_folder,$1)/tests/$1
TEST_CHOSEN := $(if $(TESTS),$(filter $(TESTS),$(TEST_NAMES)),$(TEST_NAMES))

.PHONY: check-programs check-run contract check-contract

check-programs: $(foreach name,$(TEST_CHOSEN),$(call test_program,$(name))) $(TEST_VICTIMS) all

check-run: check-programs
	$(Q)TEST_BUILD='$(abspath $(B))' TESTS_ALONE='$(TESTS_ALONE)' tests/support/check '$(FILTER)' \
	    $(foreach name,$(TEST_CHOSEN),$(call test_program,$(name)))

# CONTRACT.md: each number of the hazards and what proves it.
contract_programs = $(sort $(foreach name,$(TEST_NAMES),$(call test_program,$(name))))

contract: $(contract_programs)
	$(Q)tests/support/contract tests/support/contract.table $^ >$(B)/tests/CONTRACT.md
	$(Q)cp $(B)/tests/CONTRACT.md tests/CONTRACT.md

check-contract: $(contract_programs)
	$(Q)tests/support/contract tests/support/contract.table $^ >$(B)/tests/CONTRACT.md
	$(Q)diff tests/CONTRACT.md $(B)/tests/CONTRACT.md || { echo 'tests/CONTRACT.md is out of date: make contract'; exit 1; }

ifeq ($(TESTS)$(FILTER),)
check-run: check-contract
endif

# Victims stand for programs that know nothing of us.
$(B)/tests/victims/%: tests/victims/%.c $(B)/flags
	@mkdir -p $(@D)
	$(say) VICTIM $@
	$(Q)$(CC) $(TEST_CFLAGS) $(VICTIM_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(VICTIM_LDLIBS)

$(B)/tests/victims/%: VICTIM_LDLIBS := -lpthread

$(B)/tests/%.o: tests/%.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(TEST_CFLAGS) -MMD -MP -c -o $@ $<

ifneq ($(UNIT),$(B))
$(UNIT)/tests/%.o: tests/%.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(TEST_CFLAGS) $(SAN) -MMD -MP -c -o $@ $<
endif

define test_rule
$(call test_program,$1): $(call test_program,$1).o $(call test_folder,$1)/tests/support/support.o \
    $(tests/$1.objects) $$(XFER_LIB)
	$$(say) LINK $$@
	$$(Q)$$(CC) $$(CFLAGS) $$(NO_LTO) $(if $(filter unit/%,$1),$$(SAN)) $$(LDFLAGS) -o $$@ $$(filter-out %/flags,$$^) -lcriterion
endef
$(foreach name,$(TEST_NAMES),$(eval $(call test_rule,$(name))))

-include tests/long.mk
