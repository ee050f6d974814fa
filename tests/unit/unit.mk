# What of the shim each unit test links. Criterion's own threads and signals are no trouble: each test is a process.
SHIM_UNIT = $(patsubst %,$(UNIT)/shim/%.o,$1)

tests/unit/text.objects := $(call SHIM_UNIT,text files calls)
tests/unit/detect.objects := $(call SHIM_UNIT,detect)
tests/unit/payoff.objects := $(call SHIM_UNIT,payoff)
tests/unit/config.objects := $(call SHIM_UNIT,config) $(LIBBSD_A)
tests/unit/maps.objects := $(call SHIM_UNIT,files text)
tests/unit/sharing.objects := $(call SHIM_UNIT,sharing files text)
tests/unit/signals.objects := $(call SHIM_UNIT,signals)

# What the helpers hand out lives until the test's process ends, so leaks say nothing here.
ifeq ($(SANITIZE),1)
export ASAN_OPTIONS := detect_leaks=0
endif
