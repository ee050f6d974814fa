# The core, twice: in the preloaded library (shim/shim.mk links CORE_OBJS) and as libxfer.a for the unit tests.
CORE_SRCS := $(wildcard core/*.c core/arch/$(arch)/*.S)
CORE_OBJS := $(patsubst %,$(B)/%.o,$(basename $(CORE_SRCS)))

$(B)/core/%.o: OBJ_CFLAGS = $(PRELOAD_CFLAGS)

ifneq ($(CORE_SRCS),)
ALL += $(sort $(B)/libxfer.a $(XFER_LIB))
$(sort $(B)/libxfer.a $(XFER_LIB)): %/libxfer.a: $(patsubst %,\%/%.o,$(basename $(CORE_SRCS)))
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^
endif
