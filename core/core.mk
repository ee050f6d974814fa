# The core, twice: in the preloaded library (shim/shim.mk links CORE_OBJS) and as libxfer.a for the unit tests.
# The public library (xfer.h) is in libxfer.a only; $(B)/lib/libxfer.a is the form that is installed.
CORE_LIBRARY_ONLY := $(wildcard core/plan.c core/transfer*.c \
    $(patsubst %,core/engine_%.c,clone sendfile splice mapped))
CORE_SRCS := $(filter-out $(CORE_LIBRARY_ONLY),$(wildcard core/*.c core/arch/$(arch)/*.S))
CORE_OBJS := $(patsubst %,$(B)/%.o,$(basename $(CORE_SRCS)))

$(B)/core/%.o: OBJ_CFLAGS = $(PRELOAD_CFLAGS)

ifneq ($(CORE_SRCS),)
ALL += $(sort $(B)/libxfer.a $(XFER_LIB)) $(B)/lib/libxfer.a
$(sort $(B)/libxfer.a $(XFER_LIB)): %/libxfer.a: $(patsubst %,\%/%.o,$(basename $(CORE_SRCS) $(CORE_LIBRARY_ONLY)))
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^
endif

# One object with what the public functions need, and no global symbols but theirs.
OBJCOPY ?= objcopy
$(B)/lib/libxfer.a: $(patsubst %.c,$(B)/%.o,$(CORE_LIBRARY_ONLY)) $(B)/libxfer.a
	@mkdir -p $(@D)
	$(say) AR $@
	$(Q)rm -f $@ $(@D)/xfer.o
	$(Q)$(CC) $(CFLAGS) $(NO_LTO) -r -nostdlib -o $(@D)/xfer.o $^
	$(Q)$(OBJCOPY) --localize-hidden --remove-section='.gnu.lto_*' --remove-section='.gnu.debuglto_*' $(@D)/xfer.o
	$(Q)$(AR) rcs $@ $(@D)/xfer.o
	$(Q)rm -f $(@D)/xfer.o
