# libxfershim. `make help` lists the targets.
#
# One make for the whole tree. Each folder's .mk adds what it builds to ALL and what its tests or its
# demonstration need to CHECK_DEPS or DEMO_DEPS (Debian packages, `one|other` where either will do).
# For them: B is the build folder, `$(say) WORD name` prints a step, Q hides its command, XFER_LIB is the
# core library for unit tests, to be compiled and linked with $(SAN) into $(UNIT) (see SANITIZE).

VERSION := 0.1.0
B := build

ifeq ($(origin CC),default)
CC := gcc
endif
triplet := $(shell $(CC) -print-multiarch 2>/dev/null)
arch := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib/$(triplet)
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man
completiondir ?= $(prefix)/share/bash-completion/completions
INSTALL ?= install

CFLAGS ?= $(if $(DEBUG),-Og -g3,-O2 -g)
override CFLAGS += -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Icore -Ishim
# Code that is preloaded into other people's programs: nothing exported but by the version script, no
# __tls_get_addr, and nothing that a distribution's compiler adds on its own (Ubuntu's turns on
# _FORTIFY_SOURCE and the stack protector, which define or need symbols of libc that we interpose or avoid).
PRELOAD_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector -U_FORTIFY_SOURCE

# Core and shim are optimized as one: a served call passes five functions in as many files, half of its time. The
# objects hold machine code as well (clang's cannot), for libxfer.a and the tests, which are linked with NO_LTO.
# A seed for each, because two builds of the same sources are to be the same.
ifeq ($(DEBUG),)
LTO := $(shell $(CC) -flto=auto -ffat-lto-objects -fno-lto -x c -c -o /dev/null /dev/null 2>/dev/null && \
    $(CC) --version | grep -q 'Free Software' && echo -flto=auto -ffat-lto-objects)
endif
NO_LTO := $(if $(LTO),-fno-lto)
PRELOAD_CFLAGS += $(LTO)

# The preloaded library is never built with AddressSanitizer, which must come before it in the process: SANITIZE=1
# is for the core and its unit tests, which get a build folder of their own.
UNIT := $(B)
ifeq ($(SANITIZE),1)
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
UNIT := $(B)/sanitize
endif
XFER_LIB = $(UNIT)/libxfer.a

ifeq ($(V),1)
Q :=
say := @:
else
Q := @
say := @printf '  %-8s%s\n'
endif

ALL :=
BUILD_DEPS := gcc libc6-dev libbsd-dev valgrind
DEMO_DEPS := $(BUILD_DEPS)
CHECK_DEPS := $(BUILD_DEPS) libcriterion-dev pkgconf|pkg-config
LINT_DEPS := clang-format clang-tidy cppcheck mandoc

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all check demo deps lint format install uninstall clean help FORCE

-include core/core.mk shim/shim.mk shim/launcher/launcher.mk
-include bench/bench.mk tests/tests.mk man/man.mk

all: $(ALL)

# Rewritten only when the flags change, so that `make DEBUG=1` after `make` compiles everything again.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@flags='$(CC) $(CPPFLAGS) $(CFLAGS) $(PRELOAD_CFLAGS) $(LDFLAGS) $(VERSION)'; \
	    [ "$$flags" = "$$(cat $@ 2>/dev/null)" ] || printf '%s\n' "$$flags" >$@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(OBJ_CFLAGS) $(if $(LTO),-frandom-seed=$@) -MMD -MP -c -o $@ $<

$(B)/%.o: %.S $(B)/flags
	@mkdir -p $(@D)
	$(say) AS $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(OBJ_CFLAGS) -MMD -MP -c -o $@ $<

ifneq ($(UNIT),$(B))
$(UNIT)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -MMD -MP -c -o $@ $<

$(UNIT)/%.o: %.S $(B)/flags
	@mkdir -p $(@D)
	$(say) AS $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
endif

# These start make anew after the packages are there, because the fragments ask compilers and pkg-config.
check:
	@$(if $(NODEPS),:,.ci/deps $(call uniq,$(CHECK_DEPS)))
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory check-run

demo:
	@$(if $(NODEPS),:,.ci/deps $(call uniq,$(DEMO_DEPS)))
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory demo-run

deps:
	@.ci/deps $(call uniq,$(DEMO_DEPS) $(CHECK_DEPS))

uniq = $(foreach package,$(sort $1),'$(package)')

C_FILES = $(shell find core shim tests bench -name '*.[ch]')
TIDY_FILES = $(filter core/%.c shim/%.c,$(C_FILES))

lint:
	@$(if $(NODEPS),:,.ci/deps $(call uniq,$(LINT_DEPS) $(BUILD_DEPS)))
	$(say) FORMAT 'core shim tests bench'
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(say) TIDY 'core shim'
	$(Q)clang-tidy --quiet $(TIDY_FILES) -- $(filter-out -Werror,$(CFLAGS)) $(LAUNCHER_DEFINES) 2>/dev/null
	$(say) CPPCHECK 'core shim'
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability,performance \
	    --inline-suppr --suppress=missingIncludeSystem --suppress=comparePointers --suppress=ctuuninitvar \
	    -D__x86_64__ '-DElfW(type)=Elf64_##type' $(LAUNCHER_DEFINES) -Icore -Ishim core shim
	@$(MAKE) --no-print-directory man-lint

format:
	$(Q)clang-format -i $(C_FILES)

install: all
	$(say) INSTALL '$(DESTDIR)$(prefix)'
	$(Q)$(INSTALL) -D -m 755 $(B)/xfershim '$(DESTDIR)$(bindir)/xfershim'
	$(Q)$(INSTALL) -D -m 644 $(B)/libxfershim.so '$(DESTDIR)$(libdir)/xfershim/libxfershim.so'
	$(Q)$(INSTALL) -D -m 644 man/completion/xfershim '$(DESTDIR)$(completiondir)/xfershim'
	$(Q)$(INSTALL) -D -m 644 core/xfer.h '$(DESTDIR)$(includedir)/xfer.h'
	$(Q)$(INSTALL) -D -m 644 $(B)/lib/libxfer.a '$(DESTDIR)$(libdir)/libxfer.a'
	$(Q)$(INSTALL) -d '$(DESTDIR)$(libdir)/pkgconfig'
	$(Q)sed 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
	    core/libxfer.pc.in >'$(DESTDIR)$(libdir)/pkgconfig/libxfer.pc'
	$(Q)for page in $(MAN_PAGES); do \
	    $(INSTALL) -D -m 644 $$page '$(DESTDIR)$(mandir)'/man$${page##*.}/$${page##*/} || exit; done

uninstall:
	$(Q)rm -f '$(DESTDIR)$(bindir)/xfershim' '$(DESTDIR)$(libdir)/xfershim/libxfershim.so' \
	    '$(DESTDIR)$(completiondir)/xfershim' '$(DESTDIR)$(includedir)/xfer.h' '$(DESTDIR)$(libdir)/libxfer.a' \
	    '$(DESTDIR)$(libdir)/pkgconfig/libxfer.pc'
	$(Q)for page in $(MAN_PAGES); do rm -f '$(DESTDIR)$(mandir)'/man$${page##*.}/$${page##*/}; done
	$(Q)[ ! -d '$(DESTDIR)$(libdir)/xfershim' ] || rmdir '$(DESTDIR)$(libdir)/xfershim'

clean:
	$(Q)rm -rf $(B)

help:
	@echo 'make            the library, the launcher and the bench programs, into build/'
	@echo 'make demo       install what is missing, then see real programs copy faster'
	@echo 'make check      install what is missing, then run the tests'
	@echo 'make check-long  what takes longer, in at most LONG_MINUTES (60); make contract after tests came or went'
	@echo 'make bench-gain  the tables of the README; bench-share (as root), bench-overhead'
	@echo 'make install    DESTDIR= prefix=/usr/local; make uninstall takes it away again'
	@echo 'make lint       clang-format, clang-tidy, cppcheck, mandoc; make format lays out the code'
	@echo 'make deps       the packages for demo and check; NODEPS=1 makes the others not look for packages'
	@echo 'V=1 shows the commands, DEBUG=1 is for gdb, SANITIZE=1 builds core and unit tests with ASan and UBSan'

# What suites of others unpack under $(B)/suites may hold .d files that are none of ours.
-include $(shell [ ! -d $(B) ] || find $(B) -path $(B)/suites -prune -o -name '*.d' -print)
