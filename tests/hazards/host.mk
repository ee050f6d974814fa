# What the tests of the host process (hazard D) want to meet. Whatever is missing is skipped.
CHECK_DEPS += strace binutils libjemalloc2 libgoogle-perftools4|libgoogle-perftools4t64 libmimalloc2.0|libmimalloc3

# clang's AddressSanitizer is linked into the program; gcc's is when asked to.
HOST_CLANG := $(shell command -v clang 2>/dev/null)
build/tests/victims/d8_undefined_behaviour: VICTIM_LDLIBS := -fsanitize=undefined -fno-sanitize-recover=all
build/tests/victims/d8_address_shared: VICTIM_LDLIBS := -fsanitize=address
build/tests/victims/d8_address: VICTIM_LDLIBS := -fsanitize=address $(if $(HOST_CLANG),,-static-libasan)
ifneq ($(HOST_CLANG),)
build/tests/victims/d8_address: CC := clang
endif
build/tests/victims/d8_undefined_behaviour build/tests/victims/d8_address build/tests/victims/d8_address_shared: \
    tests/hazards/host.mk
