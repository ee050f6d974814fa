# The preloaded library. It must need libc.so.6 and nothing else, and export what symbols.def says and nothing else.
SHIM_SRCS := $(wildcard shim/*.c shim/arch/$(arch)/*.S)
SHIM_OBJS := $(patsubst %,$(B)/%.o,$(basename $(SHIM_SRCS)))

# Static, because a program's own libbsd must not meet another version of it.
LIBBSD_A := $(shell $(CC) -print-file-name=libbsd.a 2>/dev/null)
SHIM_LDFLAGS := -shared -Wl,-soname,libxfershim.so -Wl,-z,now,-z,relro,-z,defs,-z,noexecstack \
    -Wl,--hash-style=gnu,--exclude-libs,ALL,--as-needed
# One segment for code and constants and one for data: two mappings less to make at every start of a program.
SHIM_LDFLAGS += -Wl,-z,noseparate-code

$(B)/shim/%.o: OBJ_CFLAGS = $(PRELOAD_CFLAGS)

ifneq ($(and $(SHIM_SRCS),$(wildcard shim/symbols.def)),)
ALL += $(B)/libxfershim.so
endif

$(B)/libxfershim.map: shim/symbols.def
	@mkdir -p $(@D)
	$(Q){ echo '{ global:'; \
	    sed -n 's/^XFERSHIM_SYMBOL([^,]*, *\([A-Za-z0-9_]*\),.*/    \1;/p' $<; echo '  local: *; };'; } >$@

$(B)/libxfershim.so: $(SHIM_OBJS) $(CORE_OBJS) $(B)/libxfershim.map
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(PRELOAD_CFLAGS) $(SHIM_LDFLAGS) $(LDFLAGS) -Wl,--version-script,$(B)/libxfershim.map \
	    -o $@ $(SHIM_OBJS) $(CORE_OBJS) $(LIBBSD_A)
