# Tests. Each tests/FOLDER/NAME.c of the folders below is one Criterion program, build/tests/FOLDER/NAME;
# each tests/victims/NAME.c is one small program for the others to run plain and under the shim.
#
#   make check-run                          every test; the last line is "N passed, N failed, N skipped"
#   make check-run TESTS='hazards/middle'   only these programs
#   make check-run FILTER='*/A13*'          only these tests (suite/name, a glob) of them
#   make check-suites                       the long runs of tests/suites

CHECK_DEPS += e2fsprogs xfsprogs btrfs-progs

# The names of the programs, as hazards/middle.
TEST_NAMES := $(patsubst tests/%.c,%,$(sort $(wildcard $(patsubst %,tests/%/*.c,unit hazards launcher apps))))
TEST_VICTIMS := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/victims/*.c)))
TEST_SUITES := $(sort $(wildcard tests/suites/*.sh))
TEST_CFLAGS = $(CPPFLAGS) $(CFLAGS) -Itests/support

# Two things that a test's own tests/FOLDER/*.mk may say: objects beside the library that it links, as in
#   tests/unit/detect.objects := $(UNIT)/shim/detect.o
# and that its tests measure time and have to run one by one:
#   TESTS_ALONE += hazards/killed
-include $(sort $(wildcard $(patsubst %,tests/%/*.mk,unit hazards launcher apps)))

-include tests/differential/differential.mk

# Unit tests are built with the sanitizers where those are asked for; the others run other programs.
test_folder = $(if $(filter unit/%,$1),$(UNIT),$(B))
test_program = $(call test_folder,$1)/tests/$1
TEST_CHOSEN := $(if $(TESTS),$(filter $(TESTS),$(TEST_NAMES)),$(TEST_NAMES))

.PHONY: check-programs check-run check-suites

check-programs: $(foreach name,$(TEST_CHOSEN),$(call test_program,$(name))) $(TEST_VICTIMS) all

check-run: check-programs
	$(Q)TEST_BUILD='$(abspath $(B))' TESTS_ALONE='$(TESTS_ALONE)' tests/support/check '$(FILTER)' \
	    $(foreach name,$(TEST_CHOSEN),$(call test_program,$(name)))

check-suites: $(TEST_VICTIMS) all
	$(Q)for suite in $(TEST_SUITES); do echo "$$suite"; TEST_BUILD='$(abspath $(B))' $$suite || exit 1; done

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
