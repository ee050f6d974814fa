# Two of the victims are libraries that others load.
$(B)/tests/victims/host_plugin $(B)/tests/victims/host_auditor: VICTIM_CFLAGS := -shared -fPIC
$(B)/tests/victims/host_plugin $(B)/tests/victims/host_auditor: tests/hosts/linking.mk
# Its functions must come before the preloaded ones for libraries as well.
$(B)/tests/victims/host_own_calls: VICTIM_CFLAGS := -rdynamic
CHECK_DEPS += strace gdb ltrace util-linux
CHECK_DEPS += musl-tools libc6-i386
