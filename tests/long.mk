# What takes longer than `make check` may: each part in its own time, all together in at most LONG_MINUTES.
#
#   make check-long                              everything; a line for each part, and its log in build/long
#   make check-long LONG='suite-tcl suite-fs'    only these parts
#
# A part is a target in CHECK_LONG. It has 3 minutes, or as many as NAME.minutes says.

LONG_MINUTES ?= 60
LONG ?= $(CHECK_LONG)

# The suites of others and the tests on other file systems: suite-tcl is tests/suites/tcl.sh. A cheap part comes
# before a dear one, so that what time is left over goes to the last.
TEST_SUITES := $(sort $(patsubst tests/suites/%.sh,suite-%,$(wildcard tests/suites/*.sh)))
CHECK_LONG := $(filter-out check-differential-long,$(CHECK_LONG)) $(TEST_SUITES) check-differential-long

check-kill-long.minutes ?= 8
check-fuzz-long.minutes ?= 7
check-sanitize.minutes ?= 8
check-coverage.minutes ?= 6
check-differential-long.minutes ?= 25
suite-cpython.minutes ?= 5
suite-fs.minutes ?= 15
suite-fs.words := short
suite-perl.minutes ?= 5

.PHONY: check-long check-long-run check-suites $(TEST_SUITES)

check-long:
	@$(if $(NODEPS),:,.ci/deps $(call uniq,$(CHECK_LONG_DEPS)))
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory check-long-run

check-long-run: check-programs
	$(Q)MAKE='$(MAKE)' tests/support/long $(B)/long $(LONG_MINUTES) \
	    $(foreach part,$(LONG),$(part):$(or $($(part).minutes),3))

# Whole, not as in check-long.
check-suites: suite-fs.words :=
check-suites: $(TEST_SUITES)

$(TEST_SUITES): suite-%: check-programs
	$(Q)TEST_BUILD='$(abspath $(B))' TESTS_ALONE='$(TESTS_ALONE)' tests/suites/$*.sh $(suite-$*.words)
