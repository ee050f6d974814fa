# The launcher, a program of its own. It shares with the library the list of symbols and the parser of the settings.
LAUNCHER_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard shim/launcher/*.c)) $(B)/shim/config.o

LAUNCHER_DEFINES = -DXFERSHIM_VERSION='"$(VERSION)"' -DXFERSHIM_TRIPLET='"$(triplet)"'
$(B)/shim/launcher/%.o: OBJ_CFLAGS = $(LAUNCHER_DEFINES)

ifneq ($(and $(LAUNCHER_OBJS),$(wildcard shim/symbols.def)),)
ALL += $(B)/xfershim
endif

$(B)/xfershim: $(LAUNCHER_OBJS)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(LAUNCHER_OBJS) $(LIBBSD_A)
